// Package constraint judges which values of a column the database's own constraints admit: its type, its CHECK constraints and those of
// its domain, each as far as it compares the column with constants. A condition that it does not understand excludes nothing.
//
// That a column has no other values decides which remarks an answer has. It bounds no contribution and proves no key: a constraint of
// a foreign table, or of a database that was restored in part, may be violated by rows that are there.
package constraint
