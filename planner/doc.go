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
//     (package source), expressions (package scalar),
//     aggregates and keys, and allows or refuses every node. It lists the column-free
//     expressions, which are then evaluated on the mirror, in the analyst's own session.
//   - [Query.Specialize] knows their values and the settings: for each [GroupingSet]
//     what one unit contributes to it, statistics, mechanisms (grouping_set.go, statistic.go, bind.go),
//     and the SQL (read.go, stages.go).
//   - [BlockPlan.Columns] makes the rows of the answer out of what was released
//     (released.go, estimator.go, margins.go).
//
// The planner never sees a protected value, and nothing that an analyst wrote is
// ever part of the SQL it writes: constants travel as parameters.
package planner
