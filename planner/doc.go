// Package planner turns a parsed statement into a [Plan]: everything that will happen to answer it, decided before any protected row is
// read.
//
// It is pure. Its input is a [policy.Model] (the policy joined with what the catalogue of the real database proves) and a statement. Its
// output is SQL for the protected database, sensitivities, mechanisms and the shape of the released relation.
//
// A statement passes four steps:
//
//   - [Analyze] resolves FROM and WHERE into sources whose rows each belong to one unit (package source), expressions (package scalar),
//     aggregates and keys, and allows or refuses every node. It lists the expressions without columns, which the mirror then evaluates
//     in the session of the analyst.
//   - [Query.Lists] knows their values, and asks the mirror for the public values of grouping keys.
//   - [Query.Specialize] knows the answers and the settings. For each [GroupingSet] it decides the bounds of a unit (unit_bounding.go,
//     measure.go), statistics (statistic.go, aggregate.go), SQL (read.go, read_writer.go) and mechanisms (assign.go, candidates.go).
//   - [BlockPlan.Columns] computes the rows of the answer from the released integers (columns.go, estimator.go, margins.go).
//
// The files, from the ground up, so that a file uses those before it; archtest counts the uses that run the other way:
//
//   - words and settings: text.go, nearest.go, number.go, counts.go (of public rows), literal.go, tree.go, settings.go,
//     mechanism_names.go, target.go;
//   - values as integers: lattice.go, term.go, factors.go (products of columns), told_apart.go (columns by their bytes);
//   - grouping: key.go, list.go, extents.go (of public tables), by_group.go, unit_bounds.go;
//   - the budget of a statistic: share.go, split.go;
//   - a measure, which bounds what a unit adds to statistics: norms.go, weighting.go, measure.go, choosing.go, top.go, integer.go;
//   - statistics: statistic.go, statistic_count.go, statistic_sum.go, statistic_product.go, statistic_offset.go, statistic_moment.go,
//     statistic_histogram.go, statistic_quantile.go;
//   - by which norms units are weighted: weighting_alone.go, weighting_finest.go, weighting_count.go, weighting_average.go,
//     weighting_moments.go;
//   - values and errors of released statistics: result.go, released.go, estimators.go, estimator.go, judge.go, small_groups.go,
//     beyond.go, errorunit.go, output_error.go, strays.go;
//   - aggregates: call.go, arguments.go, collector.go, form.go, aggregate_linear.go, aggregate_average.go, aggregate_spread.go,
//     aggregate_pair.go, aggregate_bool.go, aggregate_rank.go, aggregate_percentile.go, aggregate_chosen.go, conditional.go,
//     aggregate.go;
//   - a release block: block.go, twins.go, top_clause.go, refuse_counted.go, params.go, eval_cost.go, join_rows.go;
//   - the groups of a block: groups.go, lists.go (what the mirror is asked for once the constants are known), domains.go, partitions.go,
//     coarser.go, none.go, unmet.go;
//   - SQL for the protected database, and how its rows are added up: read_writer.go, summands.go, folded_sums.go, folded.go, read.go,
//     meaning.go, moment.go (for questions);
//   - limits and budgets of measures: unit_bounding.go, measure_bounding.go, one_weight.go, measure_target.go, measure_budget.go;
//   - a grouping set, which has all of these: aggregation.go, results.go, unanswered.go, errorbar.go, grouping_set.go, running.go;
//   - mechanisms: candidate.go, staircase.go, expected.go, noisereduction.go, choose_top.go, choose_ranks.go, candidates.go, assign.go;
//   - a statement: stated.go, computed.go, question.go, parts.go, bytes.go, specializer.go, plan.go, analyze.go, specialize.go;
//   - the answer: margins.go, apportion.go (the budget, among grouping sets that agree), nonnegative.go, columns.go, known_errors.go,
//     relation.go, redrawn.go (its noise, for replicas), shifts.go (its limits, likewise);
//   - words about it: cut.go, leftout.go, copied.go, untold.go, wide.go, explain_measure.go, standing.go, explain.go.
//
// The planner never sees a protected value. Nothing that an analyst wrote is part of the SQL for the protected database: constants travel
// as parameters.
package planner
