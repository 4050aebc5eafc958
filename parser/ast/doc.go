// Package ast holds the trees of a release block: its FROM and its expressions. Package
// parser makes them of a client's text; their readers need no parser.
//
// Block, From, Rows and Expr are all that there is. A query below a block is a
// SELECT without LIMIT and locks, or UNION ALL of such; a WITH query
// stands at each reference to it. Names of columns are as the client wrote them, and have the
// meaning of Postgres: a column of the same level of query first, then one of a level
// around it; an item of FROM does not see its neighbours. That the tree is allowed syntax does not
// make it allowed meaning: functions, types and the owners of rows are judged by the planner.
package ast
