package contribution

import (
	"math"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A Tail releases how many units a limit C cuts, and how many are just below it:
//
//	b = (#{C/4 < N ≤ C/2}, #{C/2 < N ≤ C}, #{N > C}) + noise.
//
// The guarantee is that of its noise for a vector of sensitivity 1: a unit is in one of the
// three at most, so that ℓ₁ = ℓ₂ = 1.
type Tail struct{ noise mechanisms.Mechanism }

// NewTail returns the statement at the price of s.Tail.
func NewTail(m dp.Measure, s Shares) (Tail, error) {
	one := dp.Sensitivity{L0: 1, LInf: 1}
	if m == dp.PureDP {
		noise, err := mechanisms.LaplaceFor(one, s.Tail)
		return Tail{noise}, err
	}
	noise, err := mechanisms.GaussianFor(one, s.Tail)
	return Tail{noise}, err
}

// Event describes the statement, for a pricer.
func (t Tail) Event() dp.Event { return t.noise.Event() }

// String writes the statement for plans.
func (t Tail) String() string { return t.noise.String() }

// Release draws the three numbers. The caller must have charged Event, durably, before.
func (t Tail) Release(src mechanisms.Source, units [3]mechanisms.Private) (b [3]*big.Int) {
	for i, n := range units {
		b[i] = mechanisms.Release(t.noise, src, n).Int()
	}
	return b
}

// An Excess says what a limit C leaves out, by released numbers alone.
type Excess struct {
	// Units is about how many units are above the limit, AtMost how many at most: with
	// the asked confidence, without any assumption.
	Units, AtMost float64
	// About is about how much these units have beyond the limit, in the norm; UpTo is an
	// upper bound if numbers of units go on falling above C as they fall below it. Both are infinite
	// where most units are above the limit, and where Few.
	About, UpTo float64
	// Few says that hardly any units are near a limit that was chosen: nothing is seen to fall.
	Few bool
}

// Bounds of the mean excess of a cut unit, in C. That of a Pareto tail of the exponent α is
// 1/(α−1); one below 2 has hardly a mean, and one above 3 is no tail.
const (
	leastTail = 0.5
	mostTail  = 2
)

// Excess computes what b tells of the limit C, at a confidence from 0.5 to below 1. The local
// exponent of the tail is α = log₂((b₂ + m)/m), of pessimistic numbers for the upper bound, and
// of the likeliest for the estimate. A limit that was chosen is where many units are, or else the least
// one, whatever units have: one that no units are seen to be near says nothing of those above.
func (t Tail) Excess(limit float64, b [3]*big.Int, confidence float64, chosen bool) Excess {
	near, cut := positive(b[1]), positive(b[2])
	most := cut + t.noise.Quantile(2*(1-confidence))
	below, _ := new(big.Float).SetInt(new(big.Int).Add(b[0], b[1])).Float64()
	few := chosen && below < surely*math.Sqrt2*t.noise.StdDev()
	if few || cut > surely*t.noise.StdDev() && near < falling*cut {
		return Excess{Units: cut, AtMost: most, About: math.Inf(1), UpTo: math.Inf(1), Few: few}
	}
	return Excess{
		Units: cut, AtMost: most,
		About: cut * limit * meanExcess(near, math.Max(cut, 1)),
		UpTo:  most * limit * meanExcess(near, most),
	}
}

// Units are surely there from so many standard deviations of their number on. Where that holds of those above
// the limit, and those just below it are fewer than such a part of them, most units are above the limit: nothing
// bounds the part that it leaves out.
const (
	surely  = 2
	falling = 0.2
)

// meanExcess returns μ, the mean of (N−C)/C over units above C, if the tail has the local
// exponent α that the numbers of units between C/2 and C and above C give.
func meanExcess(near, above float64) float64 {
	if above <= 0 {
		return 1 / float64(mostTail)
	}
	alpha := math.Log2((near + above) / above)
	return 1 / math.Min(math.Max(alpha-1, leastTail), mostTail)
}

// positive returns a released number, or 0 if it is negative.
func positive(n *big.Int) float64 {
	f, _ := new(big.Float).SetInt(n).Float64()
	return math.Max(f, 0)
}

// Spread divides an upper bound of an excess among groups, in proportion to their answers: U·p_g/‖p‖₂,
// p_g = max(0, answer_g). It assumes that the cut units are spread over groups as all are.
func Spread(upTo float64, answers []float64) []float64 {
	square := 0.0
	for _, a := range answers {
		square += math.Max(a, 0) * math.Max(a, 0)
	}
	parts := make([]float64, len(answers))
	for i, a := range answers {
		if square > 0 {
			parts[i] = upTo * math.Max(a, 0) / math.Sqrt(square)
		}
	}
	return parts
}
