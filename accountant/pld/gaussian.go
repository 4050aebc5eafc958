package pld

import (
	"math"

	"dpproxy/mechanisms"
)

const (
	// smoothVariance is the variance from which on discrete Gaussian noise is
	// taken for a continuous one with a variance that is less by smoothing.
	smoothVariance = 1 << 16
	// smoothing is w in the comment of gaussian.
	smoothing = 2
	// smoothError bounds |ln f/g| of that comment: 2·exp(−2π²·2) is 1.5·10⁻¹⁷.
	smoothError = 2e-17
)

// gaussian is the pair (N(μ, 1), N(0, 1)), whose loss is N(μ²/2, μ²): independent
// Gaussian releases compose into one, whose μ² is the sum of theirs.
//
// It covers discrete noise too. Round N(0, v−w) to an integer y with probability
// proportional to exp(−(y−z)²/2w), where z is the number drawn. The normaliser Σ
// over y is √(2πw) but for a factor 1 ± 2.1·exp(−2π²w), whatever z is (Poisson
// summation), so that the law g of y is that of discrete Gaussian noise f of
// variance v but for such a factor. As rounding commutes with integer shifts, g is
// a post-processing of the continuous mechanism.
type gaussian struct {
	muSquared float64
	slack     float64 // bounds the sum of |ln f/g| over all draws
}

// smooth returns the continuous pair that covers discrete Gaussian noise of a
// variance ≥ smoothVariance on draws coordinates that change by shift.
func smooth(variance, shift, draws float64) gaussian {
	return gaussian{shift * shift / (variance - smoothing) * draws * (1 + floatSlack), smoothError * draws}
}

func (g gaussian) times(n int64) gaussian {
	return gaussian{g.muSquared * float64(n) * (1 + floatSlack), g.slack * float64(n)}
}

func (g gaussian) plus(h gaussian) gaussian {
	return gaussian{(g.muSquared + h.muSquared) * (1 + floatSlack), g.slack + h.slack}
}

// bounds implements source.
func (g gaussian) bounds() (low, high float64) {
	mu := math.Sqrt(g.muSquared)
	return g.muSquared/2 - tailReach*mu, g.muSquared/2 + tailReach*mu
}

// fill implements source.
func (g gaussian) fill(b *builder) {
	mu := math.Sqrt(g.muSquared)
	low, high := g.bounds()
	first, last := int64(math.Floor(clip(low)/b.step)), int64(math.Ceil(clip(high)/b.step))
	slack := floatSlack + 2*g.slack
	lift := b.step * float64(first)
	b.add(first, normalBetween(math.Inf(-1), (lift-g.muSquared/2)/mu)*(1+slack))
	for i := first; i < last; i++ {
		u, v := float64(i)*b.step, float64(i+1)*b.step
		p := normalBetween((u-g.muSquared/2)/mu, (v-g.muSquared/2)/mu)
		q := normalBetween((u+g.muSquared/2)/mu, (v+g.muSquared/2)/mu)
		// A difference of two tails loses digits in narrow cells.
		narrow := slack + 1e-15*mu/b.step
		b.cell(i, p*(1+narrow), q*(1-2*narrow))
	}
	b.infinite += normalBetween((float64(last)*b.step-g.muSquared/2)/mu, math.Inf(1)) * (1 + slack)
}

// normalBetween returns the standard normal probability of [a, b], on the side of
// 0 where no digits cancel.
func normalBetween(a, b float64) float64 {
	if a+b < 0 {
		a, b = -b, -a
	}
	return (math.Erfc(a/math.Sqrt2) - math.Erfc(b/math.Sqrt2)) / 2
}

// delta returns an upper bound of δ(ε), by [mechanisms.GaussianDelta].
func (g gaussian) delta(epsilon float64) float64 {
	if g.muSquared == 0 {
		return 0
	}
	below := 2*g.slack - epsilon // how far ε, with the slack, is below 0
	delta, err := mechanisms.GaussianDelta(1, math.Sqrt(g.muSquared), math.Max(0, -below))
	if err != nil { // μ is no finite number
		return 1
	}
	return math.Min(1, (delta*(1+gaussianError)+leastDelta+math.Max(0, below))*(1+2*g.slack))
}

const (
	// gaussianError is more than the relative error of mechanisms.GaussianDelta.
	gaussianError = 1e-10
	// leastDelta is where mechanisms.GaussianDelta may return 0.
	leastDelta = 1e-300
)

// epsilon returns the least ε ≥ 0 at which delta is at most δ.
func (g gaussian) epsilon(delta float64) float64 {
	if g.delta(0) <= delta {
		return 0
	}
	low, high := 0.0, 1.0
	for g.delta(high) > delta {
		if high > 1e15 {
			return math.Inf(1)
		}
		low, high = high, 2*high
	}
	for range 70 {
		mid := (low + high) / 2
		if g.delta(mid) <= delta {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}
