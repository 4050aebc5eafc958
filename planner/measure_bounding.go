package planner

import (
	"math/big"
	"slices"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/planner/scalar"
)

// Fraction bits of the lattices of directions and weights, and binary exponents of the largest limits of sums.
const (
	countFraction = 20
	sumFraction   = 14
	choiceBits    = 62 // of the sensitivity of a score
	groupedBits   = contribution.GroupedSumBits
	roomBits      = 10 // a thousand rows of the largest value are within the largest limit in groups, if that fits
	latticeBits   = 60 // at most 2^60 on the lattice: with one bit for saturation this fits an int64
	totalBits     = 56
)

// leastChoice is the square of the largest norm for which no limit is chosen: choice and tail would cost more than they could save.
const leastChoice = 4

// bound gives the measure its limits, for noise of a kind, from what is known of contributions to the grouping set.
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

// dropSaturated removes the limits within which a unit can be although its part in a group is saturated: the norm does not bound the other
// sums of such units, so they must not count.
func (n *Norm) dropSaturated(s *statistic, c unitBounds) {
	if saturates := s.statisticForm.(normForm).adds(c.rows).Cmp(big.NewInt(n.saturation)) > 0 || s.counts() && !c.proven; !saturates {
		return
	}
	n.Grid = n.Grid.Under(n.saturation)
	n.Choices, n.Fixed, n.cuts = min(n.Choices, n.Grid.Len()), min(n.Fixed, n.Grid.Len()-1), true
}

// sumAbout makes the sum of an average choose among other centres.
func (s *statistic) sumAbout(f offsetSum) { s.statisticForm, s.measure.Vectors = f, len(f.centres) }

// newNorm returns the norm of a statistic, and the square of its largest value. It returns an error if fixed limits do not bound sums of
// values within numbers that can be computed with.
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

// normWithin returns a norm that is at most √reach, and at most √limited for units within the limits.
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

// bounding makes the statistic one of those that bound its measure, if there is room, and returns it or the equal statistic that does so
// already.
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

// Limits are chosen from these fractions of the largest value of a row on. For a sum of bounded values, limits that hardly any row is
// within gain nothing, and with more limits a high limit needs more units to be chosen: few units that add to a sum need a limit near the
// bound of a row. The weight of an average also depends on the number of rows: a low limit of the distances from its centre leaves out no
// unit.
const (
	leastOfSum     = 1 << 5
	leastOfAverage = 1 << 10
)

// beginAt removes the limits that are far below the most that one row adds to a statistic, if that is known.
func (n *Norm) beginAt(one int64, sum bool) {
	one = min(one, int64(n.Grid.Limit(n.Grid.Len()-1)))
	if sum {
		n.Grid, n.row = n.Grid.From(one/leastOfSum), float64(one)
	} else {
		n.Grid = n.Grid.From(one / leastOfAverage)
	}
	n.Choices = n.Grid.Len()
}

// ofOneRow returns the most that one row adds to the norm of the statistic, and whether that is a sum of values; it is 0 for counts, and
// for values of which nothing is known. If rows of a unit add up to the values, it is what one of these rows adds: few units come near the
// bound of their number.
func (s *statistic) ofOneRow() (most int64, sum bool) {
	if s.counts() || s.terms()[0].values.technical {
		return 0, false
	}
	if f, ok := s.statisticForm.(squareFrom); ok {
		return f.plausible(), false
	}
	_, sum = s.statisticForm.(valueSum)
	return max(s.statisticForm.(normForm).adds(1).Int64()/scalar.AddedRows(s.terms()[0].arg), 1), sum
}

// top returns the largest limit that can be chosen for a norm.
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

// topOf returns the largest limit of sums of values in groups, on a lattice of 2^−fraction.
func topOf(s *statistic, fraction uint) int64 {
	plenty := s.statisticForm.(normForm).adds(1).BitLen() + roomBits
	return 1 << min(max(groupedBits, plenty), latticeBits-int(fraction))
}

// saturation returns the most that a unit adds to a group, for a statistic that a norm is taken of. For a sum it exceeds the largest limit
// that can be chosen, so that a saturated unit is known to be above the limit; if limits are fixed, no unit within them saturates.
func (m *Measure) saturation(s *statistic, fixed bool) int64 {
	switch {
	case s.counts():
		return maxGroupRows
	case fixed:
		return m.top(s)
	}
	return 2 * m.top(s)
}

// square bounds the square of the norm of a statistic of a unit with a number of rows in each of a number of groups, which adds at most
// most to each group.
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

// mostOfNorm bounds what a unit with a number of rows in a group adds to a statistic that a norm is taken of.
func (s *statistic) mostOfNorm(rows int64) *big.Int {
	m := s.measure
	most, limit := s.statisticForm.(normForm).adds(rows), big.NewInt(m.Norms[m.weighting.normOf(s)].saturation)
	if most.Cmp(limit) > 0 {
		return limit
	}
	return most
}

// fraction returns the fraction bits of the lattice of the directions, or of the weighted sums, of a statistic.
func (m *Measure) fraction(s *statistic) uint { return m.weighting.fraction(m, s) }

// sensitivity returns the sensitivity of a statistic if the limits of the norms are those of levels.
func (m *Measure) sensitivity(s *statistic, levels []int) (dp.Sensitivity, error) {
	sens, err := m.weighting.sensitivity(s, levels)
	if m.byGroup.holds() {
		sens.L0 = int64(m.byGroup)
	}
	return sens, err
}
