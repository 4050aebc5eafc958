// Package realized computes the realized privacy loss of answers in the local
// model, where noise is added to the value of one object alone.
//
// An object has a value x of a public domain. Of outputs y₁, …, yₙ about it that
// were drawn independently given x, with laws that may depend on earlier outputs,
// the realized loss is
//
//	ℒ = ln(max over x of P(x) / min over x of P(x)),  P(x) = Π Pr(yᵢ | x).
//
// Odds between two values change by exp(ℒ) at most. ℒ is at most the sum of the
// εᵢ, is often less, and falls where answers contradict each other [Pan 2023].
//
// # A filter
//
// Accept a further answer with a loss of at most ε iff ℒ + ε ≤ ε_g ([Admits]).
// Whoever keeps to that keeps ℒ ≤ ε_g for ever, so that all outputs about the
// object are ε_g-locally differentially private, however they are chosen: whether
// a question is accepted depends on outputs, which are public, and cancels. The
// order is: decide, draw, store the state, show the output.
//
// # Where it helps, and where not
//
// In the local model only. In the central model some neighbour always loses the
// whole ε of a count or sum with Laplace noise, as the exact answer has no bounds:
// the realized loss is the sum of the ε.
//
// Beware of bias. Which objects still answer depends on their outputs, and for
// [Bits] on their values in the end: the mean of those who answer is not the mean.
// Estimate from the stored likelihoods of all objects, which costs nothing more.
package realized
