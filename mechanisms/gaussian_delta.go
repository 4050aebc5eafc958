package mechanisms

import (
	"fmt"
	"math"

	"dpproxy/internal/gausssum"
)

const (
	// wideSigma is the standard deviation above which the discrete law is summed
	// by the formula of Euler and Maclaurin, as in gausssum.
	wideSigma = 512
	// farSigmas is how many standard deviations away a weight is below 10⁻³³⁰.
	farSigmas = 39
	// narrowShift is the shift, in standard deviations, below which two tails are
	// too close for a difference, and the derivative between them is integrated.
	narrowShift = 1
)

// Delta returns the least δ of (ε, δ)-DP of one coordinate, which changes by at
// most Δ = LInf [CKS 2020, Theorem 7]:
//
//	δ = P(X > εv/Δ − Δ/2) − exp(ε)·P(X > εv/Δ + Δ/2), X the noise, v its variance,
//
// to a relative 10⁻⁹, or 0 below 10⁻³⁰⁰. It is 1 for an ε that is negative or not a
// number.
func (g Gaussian) Delta(epsilon float64) float64 {
	if !(epsilon >= 0) {
		return 1
	}
	variance := g.varianceDouble()
	shift, sigma := float64(g.sensitivity.LInf), math.Sqrt(variance)
	least := epsilon*variance/shift - shift/2 // where the loss is ε
	if least > farSigmas*sigma {
		return 0
	}
	if sigma <= wideSigma {
		return math.Min(1, deltaTerms(variance, shift, epsilon, math.Floor(least)))
	}
	return math.Min(1, deltaAsymptotic(variance, shift, math.Floor(least)+1, least))
}

// deltaTerms sums P(n)·(1 − exp(ε − loss(n))) over n > least, one by one from the
// smallest weight on.
func deltaTerms(variance, shift, epsilon, least float64) float64 {
	span := math.Ceil(10 * math.Sqrt(variance))
	first := math.Max(least, -span)
	sum := 0.0
	for n := math.Max(first, 0) + span; n >= first; n-- {
		beyond := shift*(2*n+shift)/(2*variance) - epsilon
		sum += math.Exp(-n*n/(2*variance)) * math.Max(0, -math.Expm1(-beyond))
	}
	return sum / gausssum.Total(variance, 0)
}

// deltaAsymptotic is the sum from n = first on, least being the real number where
// the loss is ε. As exp(ε)·P(first+shift) is exp(−beyond)·P(first), beyond being
// loss(first) − ε, both tails are multiples of the weight at first.
func deltaAsymptotic(variance, shift, first, least float64) float64 {
	sigma := math.Sqrt(variance)
	x, s := first/sigma, shift/sigma
	beyond := (first - least) * shift / variance
	weight := math.Exp(-x * x / 2)
	total := gausssum.Total(variance, 0)
	if s < narrowShift {
		closer := sigma*millsGap(x, s) + tailTerms(sigma, x) - tailTerms(sigma, x+s)
		return weight * (closer - math.Expm1(-beyond)*relativeTail(sigma, x+s)) / total
	}
	shifted := weight * math.Exp(-beyond) * relativeTail(sigma, x+s)
	return math.Max(0, (gausssum.Upper(variance, 0, first)-shifted)/total)
}

// relativeTail returns the sum of the weights from the integer xσ > 0 on, over the
// weight there. Where they fall so fast that 300 of them are all, it sums them.
func relativeTail(sigma, x float64) float64 {
	if x <= steep*sigma {
		return sigma*mills(x) + 0.5 + tailTerms(sigma, x)
	}
	sum := 0.0
	for j := 300.0; j >= 0; j-- {
		sum += math.Exp(-j / sigma * (x + j/(2*sigma)))
	}
	return sum
}

// steep is the slope x/σ of the logarithm of the weights up to which tailTerms are
// right to 10⁻¹², and from which on a weight 300 further is below 10⁻¹⁹.
const steep = 0.15

// tailTerms returns the terms that the formula of Euler and Maclaurin adds to
// σ·mills(x) + ½ for the sum of the weights from xσ on, over the weight there.
func tailTerms(sigma, x float64) float64 {
	square := x * x
	return x / sigma * (1.0/12 - (square-3)/(720*sigma*sigma) + (square*(square-10)+15)/(30240*math.Pow(sigma, 4)))
}

// GaussianDelta returns the δ at ε of continuous Gaussian noise of standard
// deviation sigma on an answer of sensitivity l2 [Balle-Wang 2018, Theorem 8]:
//
//	δ = Φ(Δ/2σ − εσ/Δ) − exp(ε)·Φ(−Δ/2σ − εσ/Δ), Δ = l2,
//
// to a relative 10⁻¹¹ for ε up to 10⁶, or 0 below 10⁻³⁰⁰. It serves comparisons with other
// implementations; releases have discrete noise, see [Gaussian.Delta].
func GaussianDelta(sigma, l2, epsilon float64) (float64, error) {
	if !positiveFinite(sigma) || !positiveFinite(l2) || !(epsilon >= 0) {
		return 0, fmt.Errorf("%w: Gaussian noise of σ = %v on a sensitivity of %v at ε = %v", ErrParameter, sigma, l2, epsilon)
	}
	return normalDelta(l2/sigma, epsilon), nil
}

// normalDelta is GaussianDelta for the shift s = Δ/σ. With x = ε/s − s/2, the
// density φ(x) is exp(ε)·φ(x+s), so that δ = φ(x)·(R(x) − R(x+s)), R Mills's ratio.
func normalDelta(s, epsilon float64) float64 {
	x := epsilon/s - s/2
	density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
	switch {
	case density == 0 && x > 0:
		return 0
	case density == 0:
		return 1
	case s < narrowShift:
		return density * millsGap(x, s)
	case x < 0:
		return math.Erfc(x/math.Sqrt2)/2 - density*mills(x+s)
	}
	return density * (mills(x) - mills(x+s))
}

// mills returns Mills's ratio R(x) = (1 − Φ(x))/φ(x), for x ≥ −1.
func mills(x float64) float64 {
	if x < millsFraction {
		return math.Sqrt(math.Pi/2) * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
	}
	return 1 / (x + millsRest(x))
}

// millsSlope returns −R′(x) = 1 − x·R(x), which is positive.
func millsSlope(x float64) float64 {
	if x < millsFraction {
		return 1 - x*mills(x)
	}
	rest := millsRest(x)
	return rest / (x + rest)
}

// millsFraction is where Laplace's continued fraction takes over: from there on
// 100 of its terms are exact to the last digits.
const millsFraction = 4

// millsRest returns 1/(x + 2/(x + 3/(x + …))), by which R(x) = 1/(x + rest).
func millsRest(x float64) float64 {
	rest := 0.0
	for k := 100.0; k >= 1; k-- {
		rest = k / (x + rest)
	}
	return rest
}

// millsGap returns R(x) − R(x+s) for s up to narrowShift, without cancellation,
// as the integral of the slope by the rule of Gauss and Legendre with ten nodes.
func millsGap(x, s float64) float64 {
	sum := 0.0
	for _, node := range [...]struct{ at, weight float64 }{
		{0.14887433898163121088, 0.29552422471475287017},
		{0.43339539412924719080, 0.26926671930999635509},
		{0.67940956829902440623, 0.21908636251598204400},
		{0.86506336668898451073, 0.14945134915058059315},
		{0.97390652851717172008, 0.06667134430868813759},
	} {
		sum += node.weight * (millsSlope(x+s*(1-node.at)/2) + millsSlope(x+s*(1+node.at)/2))
	}
	return s / 2 * sum
}

// positiveFinite reports whether x is a number above zero.
func positiveFinite(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
