package sqltext

import "strconv"

// The relations of a statement are named by a letter. t0, t1, ... are those of the block's FROM.
const (
	Rows       = "r" // rows of the block
	UnitGroups = "g" // statistics of each unit in each partition
	Bounded    = "p" // g saturated, with the numbers of public keys
	Levelled   = "e" // p with the levels of the unit
	Histogram  = "h" // rows of all units by the value b
	Levels     = "l" // the levels of a histogram's tree
	Relation   = "m" // rows of a relation that is bounded before it is joined
	Single     = "z" // one row, with which a chain of joins begins
)

// Their columns are named by a letter as well, and those of which there are several by a letter
// and a number, from 1.
const (
	Unit    = "u"    // the privacy unit
	Count   = "n"    // how many rows
	Order   = "o"    // place in an order; with [List], the number of a public value
	Value   = "b"    // the rows of a statistic that is read on its own are grouped by it as well
	One     = "one"  // a column where there is no other
	Element = "x"    // a value of a [List]
	Away    = "away" // the distance of a value from the pivot of a histogram's buckets
)

// Unsortable is a constant of a type whose values are hashed and never sorted: grouped by it as well, rows are added up in a
// hash table, and not sorted before, however many rows Postgres thinks there are, and also where enable_hashagg is off. It is for
// groups of which there can be a public number at most, and stands last.
const Unsortable = "CAST('0' AS pg_catalog.xid)"

// Key names the i-th grouping key.
func Key(i int) string { return numbered("k", i) }

// Text names the text of the i-th grouping key, where it is read as bytes.
func Text(i int) string { return numbered("s", i) }

// Argument names the i-th argument of the statistics.
func Argument(i int) string { return numbered("c", i) }

// Integer names the i-th argument as an integer of its lattice.
func Integer(i int) string { return numbered("l", i) }

// Filter names the i-th condition of the statistics.
func Filter(i int) string { return numbered("f", i) }

// Statistic names the i-th statistic.
func Statistic(i int) string { return numbered("m", i) }

// Vector names the i-th statistic about the j-th of several centres.
func Vector(i, j int) string { return Statistic(i) + "_" + strconv.Itoa(j+1) }

// Level names the level of a unit by its i-th norm.
func Level(i int) string { return numbered("v", i) }

// Length names what the statistics of a unit are divided by for its i-th norm.
func Length(i int) string { return numbered("z", i) }

// List names the relation of the public values of the i-th key, with their numbers.
func List(i int) string { return numbered("d", i) }

// SubSelect names the relation of the i-th sub-select of conditions that is joined.
func SubSelect(i int) string { return numbered("j", i) }

// Nulls ends the name of the relation that says whether there is a NULL among the values of such a sub-select.
const Nulls = "n"

// numbered counts from 1 in names, and from 0 elsewhere.
func numbered(letter string, i int) string { return letter + strconv.Itoa(i+1) }

// Of names a column of a relation.
func Of(relation, column string) string { return relation + "." + column }
