// Package advice says which indexes and table options would make reads of protected
// tables fast.
//
// Such a read groups the rows of a table by privacy unit before it sums, and joins
// the tables on the way to the unit. [Read] takes indexes and options from the
// catalogue, [Steps] compares them with the policy's use of the tables. Nothing of
// this looks at rows or statistics, so that advice can be shown to anybody.
package advice
