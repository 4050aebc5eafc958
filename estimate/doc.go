// Package estimate turns released integers into the aggregates that were asked
// for: averages, variances, quantiles, extremes, and totals that agree with
// their parts, each with a bound on its error.
//
// All of it is post-processing: the inputs are integers that were released with
// noise, and public facts about their lattice and the noise. Nothing here costs
// anything, and nothing here sees a protected value.
//
// An estimator is built once for a query, from the noise and the probability
// alpha with which its intervals may fail, and then applied to each row of the
// released relation:
//
//   - [Average], [Variance], [Pairs] and [Count] from noisy sums and counts. Their
//     arithmetic is exact, in rational numbers.
//   - [Tree] and [Distribution]: quantiles, the median, minimum and maximum from
//     noisy counts over a public grid of buckets, a [Shape].
//   - [Combine] and [Reconcile]: independent measurements of one number, and
//     totals and parts, merged by their variances.
//   - [Margins] and [Agreement]: cells and their margins, the variances they have then, and the parts of a price that make those small.
//   - [Interval]: the arithmetic of error bounds.
//
// An interval covers the value that the exact aggregates that were measured would
// have given, with probability at least 1−alpha over the noise, for each row alone.
// They were measured after bounding: values clamped to their bounds and rounded to
// the lattice, and rows or groups beyond the contribution of one privacy unit left
// out. The bias of that is in no interval, and cannot be: it is not public.
//
// References: [Hay et al. 2010] Boosting the Accuracy of Differentially Private
// Histograms Through Consistency. [Qardaji-Yang-Li 2013] Understanding
// Hierarchical Methods for Differentially Private Histograms. [Boucheron-Lugosi-
// Massart 2013] Concentration Inequalities. [Barlow et al. 1972] Statistical
// Inference under Order Restrictions. [Nelder 1965] The Analysis of Randomized
// Experiments with Orthogonal Block Structure. [Yu 2010] Monotonic Convergence of a
// General Algorithm for Computing Optimal Designs.
package estimate
