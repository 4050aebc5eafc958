// Package realized computes the realized privacy loss of answers in the local
// model, where noise is added to the values of one object alone, and decides which
// objects are asked further.
//
// An object is a point x of a public [Domain]: a value of each of its private
// columns. A [Question] has an answer that is drawn from a law that depends on x.
// Of the answers y₁, …, yₙ of one object the realized loss is
//
//	L = ln(max over x of P(x) / min over x of P(x)),  P(x) = Π Pr(yᵢ | x).
//
// Odds between two values change by exp(L) at most, from any odds before.
// L is at most the sum of the εᵢ, is often less, does not depend on the order, and
// falls where answers contradict each other [Pan 2023].
//
// # How it is computed
//
// An [Account] splits the questions that an object answered into components that
// have no column in common: P is a product, and their losses add up exactly. Of a
// component,
//
//   - answers about one category are counted in integers;
//   - of scores that are affine over the whole box, ln P is concave: its minimum is
//     at a corner, and its maximum has a certificate;
//   - all else is bisected, with enclosures of ln P and its derivatives by intervals.
//
// The result is an upper bound, also where work was left undone, and however
// doubles were rounded. Where a score was drawn with an error, such as that of a
// lattice, its law was another by that much, and the loss has room for it.
//
// # A filter
//
// A [Filter] has an object asked only as long as its losses remain within a limit.
// Whether it is asked is a function of its answers, which are public, and cancels:
// all that is released about the object is (ε, δ)-locally differentially private,
// however questions are chosen. The order is: decide, draw, store durably, show.
//
// # Where it helps, and where not
//
// In the local model only, and where values stay: of values that change, likelihoods
// are about different points, and the loss is the sum of ε (Mode). In the central
// model some neighbour always loses the whole ε of a count or sum with Laplace
// noise, as the exact answer has no bounds.
//
// Beware of bias. Which objects still answer depends on their answers, and of scores
// on their values in the end: the mean of those who answer is not the mean. Package
// estimate/population takes the answers of all, which costs nothing more.
//
// References: [Pan 2023] Knowledge Gain as Privacy Loss in Local Privacy Accounting.
// [Moore 1966] Interval Analysis. [Feldman-Zrnic 2021] Individual Privacy Accounting
// via a Rényi Filter. [Whitehouse et al. 2023] Fully-Adaptive Composition in
// Differential Privacy. [CKS 2020] The Discrete Gaussian for Differential Privacy.
package realized
