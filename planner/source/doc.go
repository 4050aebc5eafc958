// Package source proves whose rows a release block reads. [Resolve] turns FROM and WHERE of a block
// into a [Source]: rows that each belong to exactly one privacy unit, which a hidden column
// identifies, whatever the rows are made of. What one unit can do to an answer is proved here and
// nowhere else (docs/decisions/0008-a-wide-surface.md).
//
// # The argument
//
//   - A row of a protected table has one unit: the model proves the path from it (package policy),
//     and the SQL joins along it ([relation]; from.go).
//   - Rows of two protected relations are joined only on their units: by equalities that hold on
//     every row (classes.go, ownership.go). A unit that is equal is the same unit, by the equality
//     that joins and GROUP BY use as well.
//   - A derived table keeps the unit in a hidden column. Its groups and its different rows have the
//     unit among their keys, and all branches of a UNION ALL have one (derived.go).
//   - A sub-select of a condition reads rows of the unit of the row around it, and public ones
//     (semijoin.go).
//   - What determines what is followed through keys (dependencies.go). From it comes how many rows a
//     unit has, in all or with the same values of grouping expressions.
//   - A relation that could multiply the rows of a unit is cut before it is joined, by an order that
//     depends on the unit's own rows and the secret alone (cut.go). Joins with public relations are
//     bounded by their sizes (fanout.go).
//
// Rows that are public, and values that only public rows decide, are told by public.go. Which rows
// are read does not depend on timing.go; how long that takes must not tell whether any row meets a
// condition.
//
// # Equal and identical
//
// Values can be equal and look different: 6 and 6.00, 'a' and 'a ' of character(n), 0 and -0.
// Expressions see how a value looks, and which of several equal rows a GROUP BY shows
// depends on their order; so the proofs of dependencies.go are about identical values. What a
// condition or a group says is that values are equal. From there a proof may go on to
// identical by one rule: how a value looks is a fact
//
//   - of a plain column of a table, by the column's type: Postgres stores no others;
//   - of anything computed, only where the SQL that we write enforces it: a number is
//     rounded to the scale of its type, a text padded to its length.
//
// [scalar.OneSpelling] and [scalar.Identical] ask for it, [scalar.Writer.Target] and
// [scalar.Writer.Grouped] enforce it, and no other place knows of it. The type of an
// expression is what Postgres calls it, and proves nothing. Ownership needs less: that units are
// equal.
package source
