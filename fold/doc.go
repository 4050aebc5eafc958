// Package fold adds up the rows of privacy units, so that a limit can be chosen from the results (package contribution). For each unit it
// finds how much the unit has, which limits its norm exceeds, and how its rows count within the limits and beyond.
//
// DATA sends one row for each row that counts, with its unit, its keys and its value as the database stores them ([Fold.Take]). DATA adds
// up nothing, unless one row holds all sums of a unit ([Sums]). A [Spec] says how the bytes of a column are read, and how rows are added
// up: in buckets, as different values, or as numbers of rows and sums of numbers ([Sums]). After the last row, [Fold.Finish] or
// [Fold.Totals] gives the sums. The package knows only the binary form of Postgres's values. It reads nothing and draws no noise.
//
// The rows of a unit are that unit's secret, and an observer sees how long they take. So:
//
//   - all rows take the same steps, and the n rows of a unit take n log n steps;
//   - tables never grow as a whole (table.go), and lists grow by pieces of one size (pieces.go);
//   - hashes are keyed, so that nobody can choose rows that collide;
//   - the order of rows changes nothing, and an error has one text;
//   - if all units are present at once, up to two goroutines finish them. Each goroutine has its own units and its own results
//     (finisher.go), so the result does not depend on which goroutine is faster.
//
// Memory is bounded. If the rows of all units do not fit, they are dropped, and [Fold.Finish] asks for all rows again, in the order of
// units. Then each unit is finished before the next one begins. If the groups and their results do not fit, a reading counts only the
// groups whose hash is in a range, and the rows are read again for the other groups. The rows of one unit and the results of a few groups
// are kept even if they exceed the bound.
package fold
