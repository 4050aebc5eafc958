// Package scalar gives meaning to expressions over one row of protected data.
//
// A [Resolver] turns the parser's tree into an [Expr]: every name is resolved,
// every function and operator is one of those that are allowed, and every node has
// the type that Postgres would give it. Whatever is not known is refused.
//
// An expression that is allowed is total: written by a [Writer], it has a value or is
// NULL for every row that a table can hold, whatever its columns hold; it cannot
// raise, and it takes no time that a value could stretch. Where Postgres would raise
// (a division by zero, an integer overflow) the result is NULL, or is computed in a
// wider type. For this, a column is brought into its declared bounds before it meets
// an operator that could raise; a column without bounds can only be compared.
//
// So an expression has Postgres's value wherever that has one, except that
//
//   - a value outside of its column's bounds counts as the nearest bound, and NaN as the upper one;
//   - a floating-point column's value below 2⁻¹⁰⁰ (of float4, 2⁻⁴⁰) counts as 0, and a numeric's
//     decimals end after 30, so that no product or quotient gets too small or too long;
//   - a text counts as its first 16384 characters ([Reach]).
//
// Parts without columns are constants: trees like all others, which are printed as a whole
// where they meet a column ([Fold]). They are evaluated once, on the mirror, in
// the analyst's own session, and reach the protected database as parameters. Their
// types are known when an expression is resolved, their values when it is bound: an
// [Env] has them, and tells the bounds of every expression.
//
// The files, from the ground up, so that a file uses those before it; archtest counts the uses that run the other way:
//
//   - values and expressions: interval.go, value.go, expr.go, window.go, function.go, facts.go (of an expression), fold.go (constants),
//     refuse.go;
//   - bounds: env.go (values of constants), narrow.go (by conditions), reach.go (how much of a value is read), moments.go, lists.go;
//   - SQL that cannot raise: write.go, lengths.go, spelling.go, print.go (SQL for the mirror), casts.go, build.go;
//   - rules of functions and operators, each with its bounds and its SQL: numbers.go, arithmetic.go, powers.go, temporal.go, age.go,
//     exactpart.go, strings.go, like.go, arrays.go, tests.go, compare.go, apart.go, statistics.go, functions.go (the list);
//   - their time: cost.go, textcost.go;
//   - SQL of choices and aggregates: write_choice.go, write_aggregate.go;
//   - values that an expression can have: bins.go, bucket.go, enumerate.go, enumerated.go, possible.go, extent.go, key.go, scale.go,
//     share.go, strays.go, unclamped.go, sameness.go, bounded.go, searched.go;
//   - whole steps of numbers: product.go, steps.go;
//   - the meaning of the parser's trees: unify.go, convert.go, constant.go, fractions.go, aggregates.go, conditions.go, choices.go,
//     declared.go, resolve_window.go, resolve.go.
package scalar
