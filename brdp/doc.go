// Package brdp is budget recycling differential privacy [Jiang-Du-Sharma-Yan
// 2024]: noise of a kernel, drawn anew with probability q where its absolute
// value exceeds a boundary θ. The release is
//
//	answer + N,  P(N = n) = c·k(n)·w(n),  w(n) = 1 for |n| ≤ θ, 1 − q for |n| > θ,
//
// where k is the kernel's law, p̄ = P(|kernel| > θ) and c = 1/(1 − q·p̄), which is
// also the expected number of draws. [Noise] is the mechanism, [Law] its exact
// law and accounting, [Designer] chooses kernel and q for an accuracy or a price.
//
// # The guarantee
//
// With the Laplace kernel of scale s, and a change of at most Δ in at most L0
// coordinates, the release is ε-DP with
//
//	ε = L0·(Δ/s − ln(1−q)),
//
// attained for every θ. With either kernel it is ρ-zCDP with
//
//	ρ = L0·sup over α > 1 of D_α(N ‖ N+Δ)/α.
//
// With the Gaussian kernel that is far more than the kernel's own Δ²/(2·variance),
// and it is (ε, δ)-DP with the exact δ of [Law.Delta].
//
// # Assumptions
//
// The boundary stands around the true answer, and yet the decision to draw anew
// looks at the noise alone: N is additive noise of a public law, and all follows
// from the pair (N, N+Δ). So kernel, θ and q must be public constants. A boundary
// that depends on the answer, such as a share of it, has none of these guarantees.
// The number of draws does not depend on the answer, but on the noise, and so does
// the time: whoever answers an analyst has to hide it, as for every mechanism.
//
// # Limits of the guarantee
//
// The accounting of the paper (its Theorems 1 and 3, Proposition 2, Algorithms 1
// to 3) is not used: it mixes shifted losses as if the shift did not depend on the
// output, and claims a δ up to 144 times below the true one. Nor does recycled
// noise compose better than its kernel at an equal price; it raises the share of
// answers within θ where θ is small beside Δ, and nothing else. A pure count never
// gains.
//
// US patent 12,547,767 appears to cover the method. A deployment that wants it must
// enable it in its policy; by default it is off.
//
// References: [Jiang-Du-Sharma-Yan 2024] Budget Recycling Differential Privacy,
// arXiv 2403.11445. [CKS 2020] Canonne, Kamath, Steinke, The Discrete Gaussian for
// Differential Privacy, arXiv 2004.00010. [Balle-Wang 2018] Improving the Gaussian
// Mechanism for Differential Privacy, arXiv 1805.06530.
package brdp
