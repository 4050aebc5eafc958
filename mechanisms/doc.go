// Package mechanisms draws the noise of differential privacy, exactly.
//
// A [Mechanism] is its sampler and its event in one value, so that what is drawn
// and what is charged cannot drift apart. [Laplace] and [Gaussian] are built by
// constructors that validate; [LaplaceFor] and [GaussianFor] choose the least
// noise that a price allows. [Release] is the one way by which a [Private] value
// becomes a [Released] one.
//
// Every answer is an integer on a lattice, and every noise an integer drawn from
// an exact law by comparing uniform random integers: no floating-point number
// decides anything in a sampler, so that the attacks on rounded noise [Mironov
// 2012] have nothing to work on. Floats appear only in what is told to people:
// [Mechanism.Quantile] and [Mechanism.StdDev].
//
// The time a draw takes depends on the noise [Jin et al. 2022]; whoever answers
// an analyst has to hide it. The package knows no budget and no database.
//
// References: [CKS 2020] Canonne, Kamath, Steinke, The Discrete Gaussian for
// Differential Privacy, arXiv 2004.00010.
package mechanisms
