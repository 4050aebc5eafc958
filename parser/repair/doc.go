// Package repair finds statements that can be asked instead of a refused one. [Instead] rewrites the client's own text; each of its
// rules is a heuristic, and whether a statement that it writes is answered is the caller's to find out.
//
// The files, from the ground up: SQL that is written and read (text.go), the statements that are found (found.go);
//
//   - of the whole query: without its error columns (errors.go), sub-selects and quantiles as aggregates of their own (query.go);
//   - of values and groups of the privacy unit: unit.go, bounds.go (where the policy has none);
//   - of joins: LATERAL (lateral.go), earlier rows and released values (join.go), results and public rows apart (beside.go);
//   - rows that are counted, or listed as groups: form.go;
//   - all of these in turn, the nearest first: instead.go.
package repair
