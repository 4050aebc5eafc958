// Package core is a small relational algebra for queries over protected rows: ten operators over numbered columns, and one judgment,
// [Judge.Check], which derives the [Type] of a relation R or refuses R. Let D be any database, x a unit, D⁻ the database D without the rows
// of x, and Dₓ the rows of x with the public rows. The theorem is that a typed R satisfies
//
//	R(D) = R(D⁻) ⊎ R(Dₓ)
//
// if R is protected, and R(D) = R(D⁻) = R(Dₓ) if R is public. In a protected relation the column [Type.Unit] is never NULL; it is x on
// every row of R(Dₓ), and on no row of R(D⁻). R(Dₓ) has at most [Type.Rows] rows, unless Rows is 0. The facts and the dependencies of the
// type hold of the rows of R(D), and so of every subset of them.
//
// Rows of reference tables are the same in D, D⁻ and Dₓ, and belong to no unit. A relation with [Loose] rows is not covered by the theorem
// until a join looks these rows up: only a Filter or a Join may be above it.
//
// The proof is an induction over the operators, one case of [Judge.Check] each; the comment of each case is its step of the proof. The
// tests evaluate random terms over random rows, and compare the rows with the type.
//
// The maker of a term answers for the following:
//
//   - The catalogue proves all that a [Scan] says. The columns of its keys are never NULL.
//   - The facts of a condition hold if it is true. An expression depends on its columns alone, unless it is [Def.Free].
//   - Units that a condition equates are compared as values of one type, by one collation.
//   - The order of a [Rank] depends on columns of its input alone.
//   - No operator makes a column again that can no longer be named. Check refuses all other columns that are made twice.
//
// Conditions and expressions are opaque to this package, which has neither types of values nor functions. It knows two relations between
// columns. Two columns are equal if the operator = of joins and groups says so; then neither is NULL, and equal units are one unit. Two
// columns are identical if nothing distinguishes their values. Dependencies are about identical values, and NULL is identical to NULL. The
// columns of a [Pair] are never NULL.
//
// Package planner/source makes a term of each level of a statement and asks for its type: docs/decisions/0033-one-judgment.md.
package core
