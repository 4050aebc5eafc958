// Package core is the language that queries over protected rows become: ten operators over columns that have numbers instead of
// names, and one judgment about them. [Judge.Check] derives the [Type] of a relation R, or refuses it. The type promises, for all databases
// D, with D⁻ for D without the rows of a unit x, and Dₓ for the rows of x and the public ones:
//
//	R(D) = R(D⁻) ⊎ R(Dₓ)
//
// The column of the unit is NULL on no row. Every row of R(Dₓ) has x in it, no row of R(D⁻) has, and R(Dₓ) has at most [Type.Rows] rows,
// if that is known. The facts and the dependencies of the type hold of the rows of R(D), and so of fewer rows. If R is
// public the three are equal. Rows of reference tables are the same in all three databases; a relation in which some are [Loose] is
// not one of rows of units yet, and stands below a join alone.
//
// The proof is an induction over the operators, one case of [Judge.Check] each. The comment of each case is that step of the proof. The
// tests evaluate random terms, and hold the promise against the rows.
//
// Whoever makes a term answers for these: the catalogue's proofs in a [Scan], of which keys are of columns that are never NULL; that
// the facts of conditions and the columns of expressions are what is said of them; that an equality of units is one of values of one type,
// by one collation; and that the order of a [Rank] is one of its own columns. All else is checked, also that no two operators make the
// same column.
//
// A condition or an expression is opaque here: whoever makes the term says which facts hold of the columns ([Condition], [Def]). The
// package has no types of values, and no functions. It knows two relations between columns. Equal columns are the same by the equality
// that joins and groups use, and neither is NULL: then the same unit is on both sides. Nothing can tell identical columns apart:
// dependencies are about identical values, among which NULL is one. A [Pair] is of columns that are never NULL.
//
// Package planner/source makes a term of each level of a statement, and asks for its type: docs/decisions/0033-one-judgment.md.
package core
