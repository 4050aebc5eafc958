package sqltext

import "strconv"

// The name of a relation is a letter. The relations of the block's FROM are t0, t1, ...
const (
	Rows       = "r" // rows of the block
	UnitGroups = "g" // statistics of each partition
	Numbered   = "p" // g with the numbers of public keys
	Histogram  = "h" // rows of all units by the value b
	Levels     = "l" // the levels of a histogram's tree
	Relation   = "m" // rows of a relation that is bounded before it is joined
	Single     = "z" // one row, with which a chain of joins begins
)

// The name of a column is a letter as well. If there are several columns of a kind, a number from 1 follows the letter.
const (
	Unit    = "u"    // the privacy unit
	Count   = "n"    // how many rows
	Order   = "o"    // place in an order; with [List], the number of a public value
	Value   = "b"    // the rows of a statistic that is read separately are grouped by it as well
	One     = "one"  // a column if there is no other
	Element = "x"    // a value of a [List]
	Away    = "away" // the distance of a value from the pivot of a histogram's buckets
)

// Key names the i-th grouping key.
func Key(i int) string { return numbered("k", i) }

// Text names the text of the i-th grouping key, if the key is read as bytes.
func Text(i int) string { return numbered("s", i) }

// Argument names the i-th argument of the statistics.
func Argument(i int) string { return numbered("c", i) }

// Integer names the i-th argument as an integer of its lattice.
func Integer(i int) string { return numbered("l", i) }

// Filter names the i-th condition of the statistics.
func Filter(i int) string { return numbered("f", i) }

// Statistic names the i-th statistic.
func Statistic(i int) string { return numbered("m", i) }

// List names the relation of the public values of the i-th key, with their numbers.
func List(i int) string { return numbered("d", i) }

// SubSelect names the relation of the i-th sub-select of conditions that is joined.
func SubSelect(i int) string { return numbered("j", i) }

// Nulls ends the name of the relation that says whether such a sub-select has a NULL among its values.
const Nulls = "n"

// numbered counts from 1 in names, and from 0 elsewhere.
func numbered(letter string, i int) string { return letter + strconv.Itoa(i+1) }

// Of names a column of a relation.
func Of(relation, column string) string { return relation + "." + column }
