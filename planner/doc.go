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
//     the bounds of one unit (unit_bounding.go, measure.go), statistics (statistic.go,
//     aggregate.go), SQL (read.go, read_writer.go) and mechanisms (assign.go, candidates.go).
//   - [BlockPlan.Columns] makes the rows of the answer out of the released integers
//     (columns.go, estimator.go, margins.go).
//
// Files use each other in one direction:
//
//	lattice, term                       values as integers
//	statistic_*                         integers that are read, with their sensitivities
//	estimator, aggregate_*              values and errors from those that were released
//	measure_*, unit_bounds              limits of what a unit adds to statistics
//	aggregation, results, grouping_set  one grouping set: all of these together
//	read, read_writer, folded           SQL for the protected database, and how its rows are added up
//	plan                                all grouping sets of all blocks
//	share, assign, candidates           the budget becomes mechanisms
//	analyze, specialize                 a statement becomes a plan
//	columns, relation, explain          a plan is shown
//	leftout, cut, unanswered, wide      words on what an answer leaves out
//
// The planner never sees a protected value, and nothing that an analyst wrote is
// ever part of the SQL it writes: constants travel as parameters.
package planner
