package planner

import (
	"math/big"
	"slices"

	"dpproxy/contribution"
	"dpproxy/dp"
)

// Fraction bits of the lattices that directions and weights are on, and exponents of two of the largest
// limits of sums.
const (
	countFraction = 20
	sumFraction   = 14
	choiceBits    = 62 // of the sensitivity of a score
	groupedBits   = contribution.GroupedSumBits
	roomBits      = 10 // a thousand rows of the largest value are within the largest limit in groups, if that is
	latticeBits   = 60 // at most 2^60 on the lattice: with the bit of what is saturated it is within an int64
	totalBits     = 56
)

// leastChoice is the square of the largest norm for which no limit is chosen: choice and tail
// would cost more than they could save.
const leastChoice = 4

// bound gives the measure its limits, for noise of a kind, by what is known of contributions to
// the grouping set.
func (m *Measure) bound(set *aggregation, laplace bool) error {
	c := set.bounds
	m.Norms, m.laplace = nil, laplace
	for _, s := range m.bounding {
		offset, about := s.statisticForm.(offsetSum)
		if about {
			s.sumAbout(newOffsetSum(offset.term, set.Private()))
		}
		n, reach, err := m.newNorm(s, c, c.limit.fixed || m.few)
		if about && err == nil && n.Choices == 0 && !offset.values.technical {
			s.sumAbout(offset.aboutMiddle())
			n, reach, err = m.newNorm(s, c, true)
		}
		if err != nil {
			return err
		}
		if n.Choices > 0 {
			n.beginAt(s.ofOneRow())
		}
		m.weighting.extends(&n, s, c, reach)
		m.Norms = append(m.Norms, n)
	}
	return nil
}

// dropSaturated leaves out the limits that a unit can be within whose part of a group is saturated: of such units other sums are not
// bounded by this one, and they do not count.
func (n *Norm) dropSaturated(s *statistic, c unitBounds) {
	if saturates := s.statisticForm.(normForm).adds(c.rows).Cmp(big.NewInt(n.saturation)) > 0 || s.counts() && !c.proven; !saturates {
		return
	}
	n.Grid = n.Grid.Under(n.saturation)
	n.Choices, n.Fixed, n.cuts = min(n.Choices, n.Grid.Len()), min(n.Fixed, n.Grid.Len()-1), true
}

// sumAbout has the sum of an average choose of other centres.
func (s *statistic) sumAbout(f offsetSum) { s.statisticForm, s.measure.Vectors = f, len(f.centres) }

// newNorm returns that of a statistic, and the square of what it is at most. Of values whose sums fixed limits do not bound within
// numbers that can be computed with there is none.
func (m *Measure) newNorm(s *statistic, c unitBounds, fixed bool) (n Norm, reach *big.Int, err error) {
	most := m.saturation(s, fixed)
	rows, _ := c.limited()
	if c.limit.fixed && !s.counts() && s.statisticForm.(normForm).adds(rows).Cmp(big.NewInt(most)) > 0 {
		return n, nil, tooWide(s.terms()[0].arg.Pos())
	}
	reach = m.square(s, most, c.rows, c.groups)
	n, err = normWithin(reach, m.limited(s, most, c), fixed, m.top(s))
	n.saturation = most
	return n, reach, err
}

// normWithin returns a norm that is at most √reach, and √limited where the limits hold.
func normWithin(reach, limited *big.Int, fixed bool, top int64) (Norm, error) {
	if fixed || limited.IsInt64() && limited.Int64() <= leastChoice {
		g, err := contribution.FixedGrid(limited)
		return Norm{Grid: g, Fixed: max(g.Len()-1, 0), cuts: limited.Cmp(reach) < 0}, err
	}
	g, err := contribution.CapGrid(min(root(limited), top))
	return Norm{Grid: g, Choices: g.Len(), cuts: true}, err
}

// root returns ⌈√square⌉, at most the largest int64.
func root(square *big.Int) int64 {
	r := new(big.Int).Sqrt(square)
	if new(big.Int).Mul(r, r).Cmp(square) < 0 {
		r.Add(r, big.NewInt(1))
	}
	if !r.IsInt64() {
		return 1<<63 - 1
	}
	return r.Int64()
}

// bounding has the statistic bound its measure, where norms have none yet, and returns the same one that does, if there is one.
func (s *statistic) bounding() *statistic {
	m := s.measure
	if i := slices.IndexFunc(m.bounding, s.equal); i >= 0 {
		return m.bounding[i]
	}
	if len(m.bounding) < m.weighting.norms() {
		m.bounding = append(m.bounding, s)
	}
	return s
}

// Parts of the largest value of one row from which on limits are chosen. Of a sum of bounded values nothing is gained by those
// that hardly a row is within, and the more limits there are, the more units it takes to have a high one chosen: few people
// who add to a sum need one near the bound of a row. The weight of an average is also by the number of rows: a low limit of
// the distances from its centre leaves none of them out.
const (
	leastOfSum     = 1 << 5
	leastOfAverage = 1 << 10
)

// beginAt leaves out the limits that are far below the most that one row adds to a statistic, if that is known.
func (n *Norm) beginAt(one int64, sum bool) {
	one = min(one, int64(n.Grid.Limit(n.Grid.Len()-1)))
	if sum {
		n.Grid, n.row = n.Grid.From(one/leastOfSum), float64(one)
	} else {
		n.Grid = n.Grid.From(one / leastOfAverage)
	}
	n.Choices = n.Grid.Len()
}

// ofOneRow is the most that one row adds to a norm of the statistic, and whether that is a sum of values; 0 where nothing is known of
// these, and of counts.
func (s *statistic) ofOneRow() (most int64, sum bool) {
	if s.counts() || s.terms()[0].values.technical {
		return 0, false
	}
	if f, ok := s.statisticForm.(squareFrom); ok {
		return f.plausible(), false
	}
	_, sum = s.statisticForm.(valueSum)
	return s.statisticForm.(normForm).adds(1).Int64(), sum
}

// top is the largest limit that is chosen of a norm.
func (m *Measure) top(s *statistic) int64 {
	switch {
	case s.counts():
		return 1 << contribution.CountBits
	case m.byLevels():
		return topOf(s, m.fraction(s))
	case m.keyed:
		return topOf(s, sumFraction)
	}
	return 1 << totalBits
}

// topOf is the largest limit of sums of values in groups, on a lattice of 2^−fraction.
func topOf(s *statistic, fraction uint) int64 {
	plenty := s.statisticForm.(normForm).adds(1).BitLen() + roomBits
	return 1 << min(max(groupedBits, plenty), latticeBits-int(fraction))
}

// saturation is the most that a unit adds to a group, of a statistic that a norm is of: of a sum more than the largest limit that
// is chosen, so that a unit that is saturated is known to be above the limit; where limits are fixed no unit within them is.
func (m *Measure) saturation(s *statistic, fixed bool) int64 {
	switch {
	case s.counts():
		return maxGroupRows
	case fixed:
		return m.top(s)
	}
	return 2 * m.top(s)
}

// square bounds the square of the norm of a statistic of one unit that has so many rows in each of
// so many groups, and adds most to one at most.
func (m *Measure) square(s *statistic, most, rows, groups int64) *big.Int {
	added := s.statisticForm.(normForm).adds(rows)
	if limit := big.NewInt(most); added.Cmp(limit) > 0 {
		added = limit
	}
	if added.Sign() == 0 { // all values are zero
		added = big.NewInt(1)
	}
	added = new(big.Int).Mul(added, added)
	return added.Mul(added, m.byGroup.times(groups, m.laplace))
}

// limited is square for the limits of the policy and the analyst.
func (m *Measure) limited(s *statistic, most int64, c unitBounds) *big.Int {
	rows, groups := c.limited()
	square := m.square(s, most, rows, groups)
	if sum, ok := s.statisticForm.(valueSum); ok && c.maxSum != nil {
		of := big.NewInt(sum.values.steps(c.maxSum))
		of.Mul(of, of)
		if of.Mul(of, m.byGroup.times(groups, m.laplace)).Cmp(square) < 0 {
			return of
		}
	}
	return square
}

// mostOfNorm bounds what a unit with so many rows in a group adds to a statistic that a norm is of.
func (s *statistic) mostOfNorm(rows int64) *big.Int {
	m := s.measure
	most, limit := s.statisticForm.(normForm).adds(rows), big.NewInt(m.Norms[m.weighting.normOf(s)].saturation)
	if most.Cmp(limit) > 0 {
		return limit
	}
	return most
}

// fraction returns the fraction bits of the lattice that the directions, or the weighted sums, of a
// statistic are on.
func (m *Measure) fraction(s *statistic) uint { return m.weighting.fraction(m, s) }

// sensitivity returns that of a statistic where the limits of the norms are those of levels.
func (m *Measure) sensitivity(s *statistic, levels []int) (dp.Sensitivity, error) {
	sens, err := m.weighting.sensitivity(s, levels)
	if m.byGroup.holds() {
		sens.L0 = int64(m.byGroup)
	}
	return sens, err
}
