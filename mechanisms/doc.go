// Package mechanisms draws the noise of differential privacy, exactly.
//
// A mechanism is its sampler and its event in one value, so that the noise that is
// drawn and the loss that is charged cannot drift apart. Constructors validate;
// those named For choose the least noise that a price allows.
//
//   - [Laplace] and [Gaussian] add noise to integers: they are [Mechanism]s, as is
//     budget recycling around them (package brdp).
//   - [Totals] adds noise to linear combinations of integers, such that their running
//     totals are precise.
//   - [Exponential] and [NoisyMax] choose among candidates by private scores.
//   - [RandomizedResponse] and [BoundedMean] answer for one unit.
//   - [AboveThreshold] searches for the first answer above a threshold.
//   - [GaussianSelection] tells which groups of private keys may be shown.
//   - [Brownian], driven by a [Refinement], and [LaplaceReduction] sharpen an
//     answer until it is good enough, and cost as much as the last one.
//
// An exact value is a [Private]. It has no accessor; the mechanisms above are the
// only ways from it to a client, and [Release] is that of noise. An
// implementation of [Mechanism] decides how much gets out: an architecture test
// allows one to this package and to brdp alone.
//
// Every answer is an integer on a lattice, and every noise an integer drawn from
// an exact law by comparing uniform random integers: no floating-point number
// decides anything in a sampler, so that the attacks on rounded noise [Mironov
// 2012] have nothing to work on. Floats appear only in figures for people:
// [Mechanism.Quantile] and [Mechanism.StdDev].
//
// The time a draw takes depends on the noise [Jin et al. 2022]; whoever answers
// an analyst has to hide it. The package knows no budget and no database.
//
// References: [CKS 2020] Canonne, Kamath, Steinke, The Discrete Gaussian for
// Differential Privacy, arXiv 2004.00010.
package mechanisms
