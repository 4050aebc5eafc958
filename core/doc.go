// Package core is the language that queries over protected rows become: ten operators over columns that have numbers instead of
// names, and one judgment about them. [Judge.Check] derives the [Type] of a relation R, or refuses it. The type promises, for all databases
// D, with D⁻ for D without the rows of a unit x, and Dₓ for the rows of x and the public ones:
//
//	R(D) = R(D⁻) ⊎ R(Dₓ)
//
// Every row of R(Dₓ) has x in the column of the unit, and there are at most [Type.Rows] of them, if that is known. The facts and the
// dependencies of the type hold of the rows of R(D). If R is public the three are equal.
//
// The proof is an induction over the operators, one case of [Judge.Check] each. The comment of each case is that step of the proof. The
// tests evaluate random terms, and hold the promise against the rows.
//
// A condition or an expression is opaque here: whoever makes the term says which facts hold of the columns ([Condition], [Def]). The
// package has no types of values, and no functions. It knows two relations between columns. Equal columns are the same by the equality
// that joins and groups use, and neither is NULL: then the same unit is on both sides. Nothing can tell identical columns apart, which
// may be NULL as well: dependencies are about identical values.
//
// Package planner/source makes a term of each level of a statement, and asks for its type: docs/decisions/0033-one-judgment.md.
package core
