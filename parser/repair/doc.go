// Package repair finds statements that can be asked instead of a refused one. [Instead] rewrites the client's own text. Each of its rules
// is a heuristic, and the caller must find out whether a statement that it writes is answered.
//
// The files, from the ground up: SQL that is written and read (text.go), the statements that are found (found.go);
//
//   - of the whole query: without its error columns (errors.go), sub-selects and quantiles as separate aggregates (query.go);
//   - of values and groups of the privacy unit: unit.go, bounds.go (if the policy has none);
//   - of joins: LATERAL (lateral.go), earlier rows and released values (join.go), results and public rows apart (beside.go);
//   - rows that are counted, or listed as groups: form.go;
//   - all rules in turn, the nearest first: instead.go.
package repair
