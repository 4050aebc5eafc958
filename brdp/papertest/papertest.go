// Package papertest computes the statements of [Jiang-Du-Sharma-Yan 2024] on the
// privacy of its recycled noise. The statements are false: the true δ is up to 144
// times the one that they state. They are kept only to show by how much they
// underestimate. [GaussianLimit] and [LaplaceLimit] are recycled noise on the real
// line, where the paper's formulas live and which the law on a fine lattice tends
// to. Never import the package outside tests.
//
// The mistake of Theorem 1 is to take the loss of recycled noise for a mixture of
// the kernel's loss Z and of Z − ln(1−q), as if which of the two it is did not
// depend on Z. In truth the shift happens on a fixed band of outputs.
package papertest

import "math"

// steps is how often a search halves its interval.
const steps = 200

// Mixed is the weight W of the shifted loss in Theorem 1: the kernel's mass from
// −θ to min(θ, shift−θ), where an output is within the boundary for one neighbour
// and not for the other.
func Mixed(g GaussianLimit, shift float64) float64 {
	return normal(min(g.Theta, shift-g.Theta)/g.Sigma) - normal(-g.Theta/g.Sigma)
}

// Delta is δ(ε) by Proposition 2, (1−W)·δ_G(ε) + W·δ_G(ε + ln(1−q)), where δ_G is
// the kernel's.
func Delta(g GaussianLimit, epsilon, shift float64) float64 {
	w := Mixed(g, shift)
	return (1-w)*kernelDelta(g.Sigma, epsilon, shift) + w*kernelDelta(g.Sigma, epsilon+math.Log1p(-g.Recycle), shift)
}

// Allocate is Algorithm 1: the kernel with δ_G(kernelEpsilon) = delta, and the
// largest q for which Proposition 2 says (epsilon, delta).
func Allocate(theta, shift, epsilon, delta, kernelEpsilon float64) GaussianLimit {
	low, high := 1e-6*shift, 1e6*shift
	for range steps {
		mid := math.Sqrt(low * high)
		if kernelDelta(mid, kernelEpsilon, shift) <= delta {
			high = mid
		} else {
			low = mid
		}
	}
	g := GaussianLimit{Sigma: high, Theta: theta}
	least, most := 0.0, 50.0 // of −ln(1−q)
	for range steps {
		mid := (least + most) / 2
		g.Recycle = -math.Expm1(-mid)
		if Delta(g, epsilon, shift) <= delta {
			least = mid
		} else {
			most = mid
		}
	}
	g.Recycle = -math.Expm1(-least)
	return g
}

// Budget is Algorithm 2: a ternary search over kernelEpsilon for the allocation
// with the largest acceptance.
func Budget(theta, shift, epsilon, delta float64) (kernelEpsilon float64, g GaussianLimit) {
	low, high := 0.0, epsilon
	for range steps / 2 {
		left, right := low+(high-low)/3, high-(high-low)/3
		if Allocate(theta, shift, epsilon, delta, left).Acceptance() < Allocate(theta, shift, epsilon, delta, right).Acceptance() {
			low = left
		} else {
			high = right
		}
	}
	return high, Allocate(theta, shift, epsilon, delta, high)
}

// ComposedDelta is δ(ε) of times releases by Theorem 3 and Algorithm 3: a binomial
// mixture over how many of the losses are shifted, without the term of none.
func ComposedDelta(g GaussianLimit, epsilon, shift float64, times int) float64 {
	w, shifted := Mixed(g, shift), -math.Log1p(-g.Recycle)
	sigma := g.Sigma / math.Sqrt(float64(times))
	all, _ := math.Lgamma(float64(times) + 1)
	total := 0.0
	for k := 1; k <= times; k++ {
		chosen, _ := math.Lgamma(float64(k) + 1)
		rest, _ := math.Lgamma(float64(times-k) + 1)
		logWeight := all - chosen - rest + float64(k)*math.Log(w) + float64(times-k)*math.Log1p(-w)
		total += math.Exp(logWeight) * kernelDelta(sigma, epsilon-float64(k)*shifted, shift)
	}
	return total
}

// kernelDelta is δ_G(ε) for any ε, below 0 too [Balle-Wang 2018, Theorem 8].
func kernelDelta(sigma, epsilon, shift float64) float64 {
	half, far := shift/(2*sigma), epsilon*sigma/shift
	return normal(half-far) - math.Exp(epsilon)*normal(-half-far)
}

// normal returns Φ(x).
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
