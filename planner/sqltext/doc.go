// Package sqltext is SQL for the protected database as a small tree: queries ([Select]) over tables,
// sub-selects and joins ([Item]). Expressions in it are texts, written by scalar.Writer.
//
// A tree is first the meaning of a statement: which rows, joined by which conditions. [Even] turns
// it into the form whose time does not tell whether any row meets a condition (timing.go, chain.go, and
// nowhere else), and [Unread] proves of that form that Postgres reads every relation (reached.go).
// [Select.SQL] prints it in one line, as it runs; [Lines] breaks that into lines for people.
package sqltext
