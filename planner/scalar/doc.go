// Package scalar gives meaning to expressions over one row of protected data.
//
// A [Resolver] turns the parser's tree into an [Expr]: every name is resolved, every function and operator is an allowed one, and every
// node has the type that Postgres would give it. Everything else is refused.
//
// An allowed expression, written by a [Writer], is total: for every row that a table can hold it has a value or is NULL. It cannot raise,
// and no value can prolong its evaluation. If Postgres would raise (a division by zero, an integer overflow) the result is NULL, or is
// computed in a wider type. To this end a column is moved into its declared bounds before an operator that could raise uses it; a column
// without bounds can only be compared.
//
// So an expression has Postgres's value whenever Postgres has one, except that
//
//   - where a value is computed with, a value outside the bounds of its column counts as the nearest bound, and NaN as the upper bound;
//     a float8 below 2⁻¹⁰⁰ in absolute value (a float4 below 2⁻⁴⁰) counts as 0, and a numeric is cut to 30 decimals, so that no product
//     or quotient gets too small or too long;
//   - a long text counts as its first 16384 characters, or, if it cannot be cut, as NULL beyond 65536 bytes; an array of more than 1000
//     elements or 1024 stored bytes counts as NULL, and a text in an array as its first 255 characters ([Reach]);
//   - a composite value of more than 2048 stored bytes counts as having no NULL field;
//   - counts and sums over rows of a unit, and row numbers in arithmetic, are clamped to the number of rows of a unit that count.
//
// Parts without columns are constants: trees that are printed as a whole when they meet a column ([Fold]). The mirror evaluates them once,
// in the analyst's own session, and their values reach the protected database as parameters. Their types are known when an expression is
// resolved. Their values are known when it is bound: an [Env] has them, and derives the bounds of every expression.
//
// The files, from the ground up, so that a file uses those before it; archtest counts the uses that run the other way:
//
//   - values and expressions: interval.go, value.go, expr.go, called.go, window.go, function.go, facts.go (of an expression),
//     fold.go (constants), unknown.go (constants that are not known yet), refuse.go;
//   - bounds: env.go (values of constants), narrow.go (by conditions), nulls.go, reach.go (how much of a value is read), moments.go,
//     lists.go, different.go (how many values there are);
//   - SQL that cannot raise: write.go, lengths.go, spelling.go, print.go (SQL for the mirror), casts.go, documents.go (fields),
//     build.go;
//   - rules of functions and operators, each with its bounds and its SQL: numbers.go, arithmetic.go, powers.go, temporal.go, age.go,
//     exactpart.go, strings.go, like.go, arrays.go, tests.go, compare.go, apart.go, statistics.go, functions.go (the list);
//   - their time: cost.go, textcost.go;
//   - SQL of choices and aggregates: write_choice.go, write_distance.go, write_aggregate.go;
//   - values that an expression can have: bins.go, bucket.go, enumerate.go, enumerated.go, possible.go, impossible.go, extent.go, key.go,
//     scale.go, share.go, strays.go, unclamped.go, sameness.go, bounded.go, searched.go, unmet.go;
//   - values that keys can have together: bases.go, zones.go, settled.go (one value for all of a cell), line.go, grid.go (the cells),
//     public_key.go, sources.go, publics.go, listing.go;
//   - whole steps of numbers: product.go, steps.go;
//   - normal forms of conditions: region.go (values between edges), points.go (of constants), truth.go (where a test is true), normal.go;
//   - the meaning of the parser's trees: unify.go, convert.go, constant.go, fields.go, fractions.go,
//     aggregates.go, conditions.go, choices.go,
//     declared.go, resolve_window.go, resolve.go.
package scalar
