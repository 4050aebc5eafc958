// Package pld computes privacy loss distributions: from a list of events, a
// tighter (ε, δ) than the sum of their prices implies.
//
// # A report, not a filter
//
// A result is a report, never a filter. It holds for a list of events that was
// fixed in advance. An analyst who chooses the parameters of an event after the
// answers before it is not covered: no number of this package may decide whether
// a query is admitted. The sums of package accountant decide that.
//
// # How
//
// The privacy loss of outputs y of a pair (P, Q) of laws is ln P(y)/Q(y), with y
// drawn from P, and
//
//	δ(ε) = sup over S of P(S) − exp(ε)·Q(S) = E[max(0, 1 − exp(ε − loss))].
//
// A pair dominates an event if its δ(ε) is at least that of every two neighbours,
// in both orders, for every ε; a product of dominating pairs dominates the list
// [Zhu-Dong-Wang 2022, Theorem 10], and its loss is the sum of theirs. The pairs
// are those of one coordinate that changes as much as one unit can change it:
//
//	noise with law f:  (f, f(·−LInf)), once for each of the L0 coordinates
//	pure ε:            randomised response with ε
//	bounded range ε:   densities ∝ exp(±x/2) of losses x in [−ε, ε]
//
// All laws f here are symmetric and do not increase in |n|, so that a smaller
// change, or one of the other sign, gives no larger δ, and reflection exchanges
// adding a unit with removing it: one distribution serves both.
//
// Losses are brought to a grid by splitting: mass at a loss between two points of
// the grid goes to both such that P and Q keep their masses. The original pair
// merges the split masses, so that the split pair dominates it [Doroshenko et al.
// 2022]. Sums are computed by fast Fourier transforms of the law weighted with
// exp(λ·loss), which keeps the digits of tails. Truncated tails and the errors of
// floating-point arithmetic are added to δ: results are upper bounds.
package pld
