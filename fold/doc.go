// Package fold adds rows of privacy units up to numbers of which a limit can be chosen (package contribution): of each unit how much
// it has, which limits of a norm that is above, and how its rows count below them and beyond.
//
// DATA sends one row for each that counts, with its unit, its keys and its value, as the database stores them ([Fold.Take]). Nothing
// is added up there. A [Spec] says how the bytes of a column are read, and how rows are added up: in buckets, as different values, or
// as numbers of rows and sums of numbers ([Sums]); behind them [Fold.Finish], or [Fold.Totals], gives the sums. It knows no Postgres but
// for the binary form of values, reads nothing, and draws no noise.
//
// The rows of a unit are that unit's secret, and how long they take is seen. So:
//
//   - all rows take the same steps, and a unit's take n log n of their number;
//   - tables never grow as a whole (table.go), and lists grow by pieces of one size (pieces.go);
//   - hashes are keyed, so that nobody can choose rows that collide;
//   - the order of rows changes nothing, and an error has one text;
//   - where all units are there at once two goroutines finish them, of which each has units and results of its own (finisher.go), so
//     that which of them is faster changes nothing.
//
// Memory is bounded: where the rows of all units are more, they are dropped, and read again in the order of units
// ([Fold.Finish] says so), where each unit is finished before the next one begins. Where groups are more, with all that is added up
// of them, those alone are counted whose hash is in a range, and the others when the rows are read once more. Rows of one unit, and a few
// groups, are there however much they take.
package fold
