// Package truth compares answers with the truth, which the protected database itself has: questions
// are asked many times, each time with noise of its own, and the truth is within the stated interval
// or is not. It is asked for: make truth; a small part of it is a test.
//
// A question in testdata is SQL as an analyst writes it, under a comment with its name. The values
// that are compared stand in braces:
//
//	-- visits by diagnosis
//	SELECT diagnosis, {count(*)} FROM visits GROUP BY diagnosis;
//
// The protected database is asked for the text without the braces. dpproxy is asked for each value
// with its interval, here count(*), dp.lower(count(*)), dp.upper(count(*)). A value from a sub-select
// passes the interval on: {n} stands for n, n_low, n_high. Other intervals stand beside the value:
// {-a | -dp.upper(a) | -dp.lower(a)}. A quotient has the interval that those of its parts allow:
// {100 * a / b | 100 | a | b}. {rank() OVER (...) AS place | ?} is compared with nothing. Columns
// without braces tell the rows apart. Where an answer has rows by its own values (LIMIT, HAVING), a second
// statement of the same name tells the truth of all rows that there could be.
//
// A line of the table of errors has the mean over rows: of the true values, of the medians of the
// answers, and of the medians of both parts of the interval; the root of the mean squared error over rows and draws; and an
// error that 95 % of all are within. Errors and intervals are in percent of the mean true value. An answer without one end has no
// interval; the share that has one is told, and how many of these have the truth in them. Each answer has noise of its own, since none
// is remembered; one secret chooses for all of them where a hash chooses.
//
// The questions of the TPC-H-derived data are the benchmark's own texts, with their values in braces.
// The questions about tails ask a policy that says nothing about the rows of a unit, of tables that
// were made for it: the laws are in tails_test.go.
//
// To measure another commit, lay this folder into a checkout of it: policies and data are then those of that commit.
package truth
