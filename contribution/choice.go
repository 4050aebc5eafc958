package contribution

import (
	"fmt"
	"math"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// Shares of the budget of one aggregate, in tenths: of its choice, its tail, and the rest
// is of the release.
const (
	choiceTenths = 1
	tailTenths   = 1
	// choiceTenthsPure is the share of the choice of a single coordinate under pure DP.
	choiceTenthsPure = 2
)

// Shares are the parts of a budget, in 10⁻¹² of ε or ρ. Their sum is the budget.
type Shares struct{ Choice, Tail, Release int64 }

// Divide divides a budget among the choice of a limit, the tail above it and the release.
// The share of the choice is zero where the limit is public.
func Divide(m dp.Measure, pico int64, groups int, chosen bool) (Shares, error) {
	tenths := int64(0)
	switch {
	case !chosen:
	case m == dp.PureDP && groups == 1:
		tenths = choiceTenthsPure
	default:
		tenths = choiceTenths
	}
	s := Shares{Choice: pico / 10 * tenths, Tail: pico / 10 * tailTenths}
	s.Release = pico - s.Choice - s.Tail
	if pico < 1 || s.Tail < 1 || chosen && s.Choice < 1 {
		return Shares{}, fmt.Errorf("%w: a budget of %d·10⁻¹² does not divide", mechanisms.ErrParameter, pico)
	}
	return s, nil
}

// A Choice chooses the limit of a norm: level j of a grid with
//
//	P(j) ∝ exp(−ε·(mⱼ + c·j)),
//
// mⱼ the number of units above Cⱼ and c a public penalty for each step. In words: a step up,
// which makes all noise larger by √2 on average, must save at least c units from being cut.
//
// The guarantee: one unit changes each mⱼ by 0 or 1, all in the same direction, so that this
// is the exponential mechanism with monotone scores of sensitivity 1 at the rate ε: ε-DP, and
// ε²/8-zCDP by its bounded range (see [mechanisms.Exponential]).
//
// The penalty c = ⌈3·ln(√2)/ε + 0.6·w·√G·σ⌉ has two terms. By the first the probability of a limit C above
// all units falls as C⁻³, so that the variance of the noise has an expectation. The second is
// where the noise of G groups, of standard deviation σ per unit of C, begins to outweigh the
// rows of the units that a step saves.
type Choice struct {
	mechanism mechanisms.Exponential
	penalty   int64
}

// Constants of the penalty: of the tail of the law, and of the noise.
const (
	tailExponent = 3
	noiseFactor  = 0.6
)

// NewChoice returns the choice for a vector of so many public groups, at most at the price of
// s.Choice.
//
// The weight w multiplies the second term of the penalty. It is 1 where the part that is cut is missing in the answer, and
// larger for an answer that is a property of the distribution of rows, such as a quantile, which
// cutting hardly moves.
func NewChoice(m dp.Measure, s Shares, groups int, weight float64) (Choice, error) {
	if groups < 1 || !(weight >= 1) {
		return Choice{}, fmt.Errorf("%w: a choice for %d groups", mechanisms.ErrParameter, groups)
	}
	epsilon, deviation := s.Choice, math.Sqrt2*dp.PicoPerUnit/float64(s.Release)
	if m == dp.ZCDP {
		epsilon = mechanisms.BoundedRangeFor(s.Choice)
		deviation = math.Sqrt(dp.PicoPerUnit / (2 * float64(s.Release)))
	}
	mechanism, err := mechanisms.NewExponential(1, true, epsilon)
	if err != nil {
		return Choice{}, err
	}
	rate := float64(epsilon) / dp.PicoPerUnit
	penalty := math.Ceil(tailExponent*math.Ln2/2/rate + weight*noiseFactor*math.Sqrt(float64(groups))*deviation)
	if !(penalty < maxPenalty) {
		return Choice{}, fmt.Errorf("%w: a budget too small for a choice", mechanisms.ErrParameter)
	}
	return Choice{mechanism, int64(penalty)}, nil
}

// maxPenalty bounds a penalty such that no score overflows.
const maxPenalty = 1 << 53

// Event describes the choice, for a pricer.
func (c Choice) Event() dp.Event { return c.mechanism.Event() }

// Penalty returns c, in units.
func (c Choice) Penalty() int64 { return c.penalty }

// String writes the choice for plans.
func (c Choice) String() string {
	return fmt.Sprintf("%v, a step up must save %d units", c.mechanism, c.penalty)
}

// Choose draws a level, which a client may see, of one of several vectors: above[a][j] is the number
// of units above the limit Cⱼ of vector a, such as of sums about different centres. One unit changes
// all of them by 0 or 1, in the same direction. The caller must have charged Event, durably, before.
func (c Choice) Choose(src mechanisms.Source, above ...[]mechanisms.Private) (vector, level int, err error) {
	var scores []mechanisms.Private
	for _, m := range above {
		for j, units := range m {
			score := mechanisms.Combine(-c.penalty*int64(j), mechanisms.Weighted{Weight: -1, Value: units})
			scores = append(scores, score)
		}
	}
	i, err := c.mechanism.Select(src, nil, scores)
	if err != nil {
		return 0, 0, err
	}
	for vector = range above {
		if i < len(above[vector]) {
			return vector, i, nil
		}
		i -= len(above[vector])
	}
	return 0, 0, fmt.Errorf("%w: no level", mechanisms.ErrParameter)
}
