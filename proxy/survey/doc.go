// Package survey asks the objects of local tables: it reads the columns of a question from the protected database, has package
// dpproxy/survey draw and store the answers, records them in the ledger, and shows them on the mirror.
//
// Nothing that it sends to the protected database is of a client: columns are read within their bounds, by SQL that cannot raise, and
// a condition on public columns is written by planner/scalar. How long a session waits follows from the number of rows.
package survey
