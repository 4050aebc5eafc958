package contribution

import (
	"fmt"
	"math"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// Shares of the budget of an aggregate, in tenths: for its choice and for its tail. The rest is for the release.
const (
	choiceTenths = 1
	tailTenths   = 1
	// choiceTenthsPure is the share of the choice of a single coordinate under pure DP.
	choiceTenthsPure = 2
	// againTenths is the share of a second choice, if there can be one.
	againTenths = 3
)

// Shares are the parts of a budget, in 10⁻¹² of ε or ρ. Again is the part of a second choice. If Again is not zero, there are two tails,
// each with the part Tail. The sum of all parts is the budget.
type Shares struct{ Choice, Again, Tail, Release int64 }

// A Way says how a limit is found.
type Way uint8

// Ways to find a limit.
const (
	Public Way = iota // it is public
	Chosen
	ChosenAgain // chosen, and chosen again with a larger share if the first limit leaves out too much
)

// Divide divides a budget among the choice of a limit, the tail above it and the release. If the limit is public, the share of the choice
// is zero.
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
// with mⱼ the number of units above Cⱼ, and pⱼ a public penalty, which grows by c with each step. In words: a step up makes all noise
// larger by √2 on average, and must save at least c units from being cut.
//
// The guarantee: one unit changes each mⱼ by 0 or 1, all in the same direction. So this is the exponential mechanism with monotone scores
// of sensitivity 1 at the rate ε: ε-DP, and ε²/8-zCDP by its bounded range (see [mechanisms.Exponential]).
//
// The penalty c = ⌈3·ln(√2)/ε + 0.6·w·√G·σ⌉ has two terms. By the first term, the probability of a limit C above all units falls as C⁻³, so
// that the variance of the noise has an expectation. At the second term, the noise of G groups, with a standard deviation σ per unit of C,
// begins to outweigh the rows of the units that a step saves.
//
// Up to B, the most that one row adds, penalties are smaller, since only a few of these steps are worth much. If each step had the whole
// penalty, a hundred units could not reach the only limit that is of use to them. In this range the probability of a limit C above all
// units falls as C^(−1/2), and the second term is that of noise which grows with C:
//
//	p = ln(C/C₀)/(2ε) + 0.6·w·√G·σ·(C − C₀)/B.
//
// If the number of units is roughly known, the penalty of a step is bounded, so that all units together reach a limit of ten thousand rows.
// But it is at least half of the first term.
type Choice struct {
	mechanism mechanisms.Exponential
	rate      float64 // ε
	penalty   int64   // of a step
	unknown   int64   // the same, if the number of units were not known
	row       []int64 // the penalties of the first levels, up to the level of one row
}

// Constants of the penalty: of the tail of the law, and of the noise.
const (
	tailExponent      = 3
	leastTailExponent = 1.5
	rowExponent       = 0.5
	noiseFactor       = 0.6
)

// Asked has the public facts about the numbers for which a limit is chosen.
type Asked struct {
	Groups int
	// Weight multiplies the second term of the penalty. It is 1 if the answer lacks the part that is cut. It is larger for an answer that
	// is a property of the distribution of rows, such as a quantile, since cutting hardly moves it.
	Weight float64
	Grid   Grid
	// Row is the largest norm of one row of a unit; 0 if it is not known, or if the grid begins with it.
	Row float64
	// Units is about how many units there are; 0 if that is not known.
	Units int64
}

// NewChoice returns a choice that costs at most s.Choice, for a release that costs s.Release.
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

// octave is ln(√2)/ε: if the penalty of a step is so large, the probability of a limit C falls as 1/C.
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

// plausibleSteps is how many steps lead from one row to more than ten thousand.
const plausibleSteps = 28

// Reach returns the highest of so many levels that units can get chosen, if each unit has as much as the level allows.
func (c Choice) Reach(units int64, levels int) int {
	for j := levels - 1; j > 0; j-- {
		if float64(c.penaltyAt(j))+c.doubt() <= float64(units) {
			return j
		}
	}
	return 0
}

// Needs returns the factor by which the rate must grow so that units above a level can get any of so many levels chosen. Penalties fall as
// the rate grows.
func (c Choice) Needs(units float64, level, levels int) float64 {
	return (float64(c.penaltyAt(levels-1)-c.penaltyAt(level)) + c.doubt()) / math.Max(units, 1)
}

// ChooseAgain draws a level of one vector, from the level from on. units is a released number of units that are known to be above this
// level. It draws at the rate of the choice, with a penalty for so many units. The caller must have charged Event, durably, before.
func (c Choice) ChooseAgain(src mechanisms.Source, from int, units int64, above []mechanisms.Private) (level int, err error) {
	c.row = []int64{0}
	above = above[from:]
	_, level, err = c.within(units, len(above)).Choose(src, above)
	return from + level, err
}

// penaltyAt returns pⱼ.
func (c Choice) penaltyAt(level int) int64 {
	last := len(c.row) - 1
	if level <= last {
		return c.row[level]
	}
	return c.row[last] + c.penalty*int64(level-last)
}

// maxPenalty bounds a penalty, so that no score overflows.
const maxPenalty = 1 << 53

// Event describes the choice, for a pricer.
func (c Choice) Event() dp.Event { return c.mechanism.Event() }

// Penalty returns c, in units, as it is if the number of units is not known.
func (c Choice) Penalty() int64 { return c.unknown }

// String writes the choice for plans.
func (c Choice) String() string {
	said := fmt.Sprintf("%v, a step up must save %d units", c.mechanism, c.penalty)
	if last := len(c.row) - 1; last > 0 {
		said += fmt.Sprintf(", the %d steps to the bound of one row together %d", last, c.row[last])
	}
	return said
}

// Choose draws a level of one of several vectors, which a client may see. above[a][j] is the number of units above the limit Cⱼ of vector
// a. The vectors are, for example, sums about different centres. One unit changes all numbers by 0 or 1, in the same direction. The caller
// must have charged Event, durably, before.
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
