// Package pgtree answers questions about the trees of pg_query: the nodes below a node (walk.go), which calls are aggregates and how they
// are weighed (aggregates.go), how Postgres names the column of a target (names.go), of what kind a SELECT is (selects.go),
// whether two trees are the same (canonical.go), and where an expression is in its text (spans.go).
package pgtree
