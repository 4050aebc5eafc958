// Package planner turns a parsed statement into a [Plan]: everything that will
// happen to answer it, decided before any protected row is read.
//
// It is pure: a [policy.Model] (the policy joined with what the real database's
// catalogue proves) and a statement go in; SQL for the protected database,
// sensitivities, mechanisms and the shape of the released relation come out.
//
// A statement passes three steps:
//
//   - [Analyze] resolves FROM and WHERE into sources whose rows each belong to one unit
//     (source*.go, ownership.go, keys.go, work.go), expressions (package scalar),
//     aggregates and keys, and allows or refuses every node. It lists the column-free
//     expressions, which are then evaluated on the mirror, in the analyst's own session.
//   - [Query.Bind] knows their values and the settings: for each grouping set, a [Part],
//     what one unit contributes to it, statistics, mechanisms (part.go, statistic.go, bind.go),
//     and the SQL (read.go, stages.go).
//   - [BlockPlan.Columns] makes the rows of the answer out of what was released
//     (released.go, estimator.go, margins.go).
//
// # Equal and identical
//
// Values can be equal and look different: 6 and 6.00, 'a' and 'a ' of character(n), 0 and -0.
// Expressions see how a value looks, and which of several equal rows a GROUP BY shows
// depends on their order; so the proofs of keys.go are about identical values. What a
// condition or a group says is that values are equal. From there a proof may go on to
// identical by one rule: how a value looks is a fact
//
//   - of a plain column of a table, by the column's type: Postgres stores no others;
//   - of anything computed, only where the SQL that we write enforces it: a number is
//     rounded to the scale of its type, a text padded to its length.
//
// [scalar.OneSpelling] and [scalar.Identical] ask for it, [scalar.Writer.Target] and
// [scalar.Writer.Grouped] enforce it, and no other place knows of it. The type of an
// expression is what Postgres calls it, and proves nothing. Ownership (ownership.go) needs
// less: that units are equal, by the equality that their GROUP BY and joins use as well.
//
// The planner never sees a protected value, and nothing that an analyst wrote is
// ever part of the SQL it writes: constants travel as parameters.
package planner
