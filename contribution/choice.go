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
	// againTenths is the share of a second choice, if there can be one.
	againTenths = 3
)

// Shares are the parts of a budget, in 10⁻¹² of ε or ρ. Again is the part of a second choice; if that is not zero, there are two
// tails, each with the part Tail. The sum of all parts is the budget.
type Shares struct{ Choice, Again, Tail, Release int64 }

// A Way says how a limit is found.
type Way uint8

// Ways to find a limit.
const (
	Public Way = iota // it is public
	Chosen
	ChosenAgain // chosen, and once more with a larger share where it leaves out too much
)

// Divide divides a budget among the choice of a limit, the tail above it and the release.
// The share of the choice is zero where the limit is public.
func Divide(m dp.Measure, pico int64, groups int, way Way) (Shares, error) {
	tenths, tails := int64(0), int64(1)
	switch {
	case way == Public:
	case m == dp.PureDP && groups == 1:
		tenths = choiceTenthsPure
	default:
		tenths = choiceTenths
	}
	s := Shares{Choice: pico / 10 * tenths, Tail: pico / 10 * tailTenths}
	if way == ChosenAgain {
		s.Again, tails = pico/10*againTenths, 2
	}
	s.Release = pico - s.Choice - s.Again - tails*s.Tail
	if pico < 1 || s.Tail < 1 || way != Public && s.Choice < 1 {
		return Shares{}, fmt.Errorf("%w: a budget of %d·10⁻¹² does not divide", mechanisms.ErrParameter, pico)
	}
	return s, nil
}

// A Choice chooses the limit of a norm: level j of a grid with
//
//	P(j) ∝ exp(−ε·(mⱼ + pⱼ)),
//
// mⱼ the number of units above Cⱼ and pⱼ a public penalty, which grows by c with each step. In words: a step up,
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
//
// Up to the most that one row adds, B, few steps are worth much: with all of them a hundred units could not reach the
// only limit of use to them. There the probability of a limit above all units falls as C^(−1/2), and the second term is that of
// noise which grows with C:
//
//	p = ln(C/C₀)/(2ε) + 0.6·w·√G·σ·(C − C₀)/B.
//
// If about so many units are known to be there, the penalty of a step is no larger than lets all of them reach a limit of ten thousand
// rows, but its first term stays at least half as large.
type Choice struct {
	mechanism mechanisms.Exponential
	rate      float64 // ε
	penalty   int64   // of a step
	unknown   int64   // the same, if nothing were known of the number of units
	row       []int64 // those of the first levels, up to that of one row
}

// Constants of the penalty: of the tail of the law, and of the noise.
const (
	tailExponent      = 3
	leastTailExponent = 1.5
	rowExponent       = 0.5
	noiseFactor       = 0.6
)

// Asked has the public facts of the numbers whose units a limit is chosen for.
type Asked struct {
	Groups int
	// Weight multiplies the second term of the penalty. It is 1 where the part that is cut is missing in the answer, and
	// larger for an answer that is a property of the distribution of rows, such as a quantile, which
	// cutting hardly moves.
	Weight float64
	Grid   Grid
	// Row is the largest norm that one row of a unit has; 0 if nothing is known, or the grid begins with it.
	Row float64
	// Units is about how many units there are; 0 is unsaid.
	Units int64
}

// NewChoice returns the choice at the price of s.Choice at most, for a release at the price of s.Release.
func NewChoice(m dp.Measure, s Shares, of Asked) (Choice, error) {
	if of.Groups < 1 || !(of.Weight >= 1) || of.Grid.Len() < 1 {
		return Choice{}, fmt.Errorf("%w: a choice for %d groups", mechanisms.ErrParameter, of.Groups)
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
	c := Choice{mechanism: mechanism, rate: float64(epsilon) / dp.PicoPerUnit, row: []int64{0}}
	noise := of.Weight * noiseFactor * math.Sqrt(float64(of.Groups)) * deviation
	penalty := math.Ceil(tailExponent*c.octave() + noise)
	if !(penalty < maxPenalty) {
		return Choice{}, fmt.Errorf("%w: a budget too small for a choice", mechanisms.ErrParameter)
	}
	c.penalty, c.unknown = int64(penalty), int64(penalty)
	for j := 1; j < of.Grid.Len() && of.Grid.Limit(j-1) < of.Row; j++ {
		up := of.Grid.Limit(j) / of.Grid.Limit(0)
		p := rowExponent*math.Log(up)/c.rate + noise*(of.Grid.Limit(j)-of.Grid.Limit(0))/of.Row
		c.row = append(c.row, int64(math.Ceil(p)))
	}
	if of.Units > 0 {
		c = c.within(of.Units, of.Grid.Len())
	}
	return c, nil
}

// octave is ln(√2)/ε: by such a penalty of a step the probability of a limit C falls as 1/C.
func (c Choice) octave() float64 { return math.Ln2 / 2 / c.rate }

// within returns the choice with a penalty for so many units and levels.
func (c Choice) within(units int64, levels int) Choice {
	last := len(c.row) - 1
	steps := min(levels-1-last, plausibleSteps)
	if steps < 1 {
		return c
	}
	most := (float64(units-c.row[last]) - c.doubt()) / float64(steps)
	least := math.Ceil(leastTailExponent * c.octave())
	c.penalty = min(c.penalty, int64(math.Max(math.Floor(most), least)))
	return c
}

// doubt is by how many units a score must be better to be chosen almost surely.
func (c Choice) doubt() float64 { return -math.Log(unlikely) / c.rate }

const unlikely = 1. / 20

// plausibleSteps lead from one row to more than ten thousand.
const plausibleSteps = 28

// Reach returns the highest of so many levels that a number of units can have chosen, if each has as much as it allows.
func (c Choice) Reach(units int64, levels int) int {
	for j := levels - 1; j > 0; j-- {
		if float64(c.penaltyAt(j))+c.doubt() <= float64(units) {
			return j
		}
	}
	return 0
}

// Needs returns by how many times the rate must be larger so that a number of units above a level can have any of so many
// levels chosen: penalties fall as it grows.
func (c Choice) Needs(units float64, level, levels int) float64 {
	return (float64(c.penaltyAt(levels-1)-c.penaltyAt(level)) + c.doubt()) / math.Max(units, 1)
}

// ChooseAgain draws one of the levels from one on, of one vector, where a number of units is known to be above it: at the rate of the
// choice, with a penalty for so many. That number was released. The caller must have charged Event, durably, before.
func (c Choice) ChooseAgain(src mechanisms.Source, from int, units int64, above []mechanisms.Private) (level int, err error) {
	c.row = []int64{0}
	above = above[from:]
	_, level, err = c.within(units, len(above)).Choose(src, above)
	return from + level, err
}

// penaltyAt is pⱼ.
func (c Choice) penaltyAt(level int) int64 {
	last := len(c.row) - 1
	if level <= last {
		return c.row[level]
	}
	return c.row[last] + c.penalty*int64(level-last)
}

// maxPenalty bounds a penalty such that no score overflows.
const maxPenalty = 1 << 53

// Event describes the choice, for a pricer.
func (c Choice) Event() dp.Event { return c.mechanism.Event() }

// Penalty returns c, in units, as it is where nothing is known of their number.
func (c Choice) Penalty() int64 { return c.unknown }

// String writes the choice for plans.
func (c Choice) String() string {
	said := fmt.Sprintf("%v, a step up must save %d units", c.mechanism, c.penalty)
	if last := len(c.row) - 1; last > 0 {
		said += fmt.Sprintf(", the %d steps to the bound of one row together %d", last, c.row[last])
	}
	return said
}

// Choose draws a level, which a client may see, of one of several vectors: above[a][j] is the number
// of units above the limit Cⱼ of vector a, such as of sums about different centres. One unit changes
// all of them by 0 or 1, in the same direction. The caller must have charged Event, durably, before.
func (c Choice) Choose(src mechanisms.Source, above ...[]mechanisms.Private) (vector, level int, err error) {
	var scores []mechanisms.Private
	for _, m := range above {
		for j, units := range m {
			score := mechanisms.Combine(-c.penaltyAt(j), mechanisms.Weighted{Weight: -1, Value: units})
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
