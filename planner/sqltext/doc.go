// Package sqltext is SQL for the protected database as a small tree: queries ([Select]) over tables, sub-selects and joins ([Item]). The
// expressions in it are texts, written by scalar.Writer.
//
// A tree first states what a statement means: which rows are joined by which conditions. [Even] turns it into a form whose time does not
// reveal whether any row meets a condition (timing.go and chain.go, and nowhere else). [Unread] proves that Postgres reads every relation
// of this form (reached.go). [Select.SQL] prints it in one line, as it runs; [Lines] breaks the line into several for people.
package sqltext
