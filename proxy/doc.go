// Package proxy is the path of a statement: text, plan, charge, read, release,
// rewrite. The path itself is execution.release in execution.go, and its order is the
// product: a statement is refused before it is charged, charged before a row is
// read, and rewritten with released values only.
//
// Between the packages it joins, this one decides these things alone: the words that a
// client reads when something fails (errors.go), the memory of a failure (incidents.go), the moments at which anything
// shows (veil.go), and who waits for whom: a statement for another one that draws the same (join.go), and a client for
// a read, which goes on without them (attend.go).
package proxy
