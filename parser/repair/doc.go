// Package repair finds statements that can be asked instead of a refused one.
//
// A [rule] of the list in rules.go writes statements in the place of a refused one, and each is a heuristic: the caller of [Instead] must
// find out whether a statement is answered. Statements are edits of the client's own text. A rule replaces the texts of nodes of the tree,
// and moves texts of others, so that all that it does not touch stays as it is: layout, comments, quotes, and how values are written.
//
// The files, from the ground up:
//
//   - the tree: what it is made of (tree.go), where the refused thing is (spot.go), whose columns these are (schema.go, owncolumn.go);
//   - the text: where an expression is (statement.go), the clauses of a SELECT (clauses.go), texts of parts (write.go), texts with edits
//     (edits.go), a SELECT that is edited (draft.go), what is found (candidate.go);
//   - rules: other statements (utility.go), no error columns (errors.go), aggregates (mode.go), bounds (bounds.go), groups (groups.go),
//     distributions (distribution.go), keys of several columns (wholekey.go), EXISTS (exists.go), public rows and lists beside protected
//     rows (beside.go), joins of rows of a unit (unit.go), LATERAL (lateral.go), set operations (setops.go), parts of the question
//     (alone.go, fewer.go), larger groups (coarser.go);
//   - the list of the rules, and what is written by all of them: rules.go.
//
// A new rule is a function in the file of its family, a line in the list, and a file of its name in testdata/rules.
package repair
