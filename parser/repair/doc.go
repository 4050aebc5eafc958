// Package repair finds statements that can be asked instead of a refused one. [Instead] rewrites the client's own text; each of its
// rules is a heuristic, and whether a statement that it writes is answered is the caller's to find out.
//
//   - of the whole query: without its error columns (errors.go), rows that are counted or listed as groups (form.go), sub-selects and
//     quantiles that are aggregates of their own (query.go), results and public rows apart (beside.go);
//   - of its joins: earlier rows and released values (join.go), LATERAL (lateral.go), groups of the privacy unit (unit.go);
//   - of its values: bounds where the policy has none (bounds.go).
package repair
