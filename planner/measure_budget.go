package planner

import (
	"math/big"
	"slices"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// assign divides the budget of a measure, which is the shares of its statistics, among the choice of its limits, the tail, and the release.
func (m *Measure) assign(set *aggregation, s split) error {
	if set.statistics[m.statistics[0]].choosing() != nil {
		s = s.forChoices()
	}
	m.few = false
	err := m.spend(set, s)
	if err == nil && m.tooFew(set) {
		m.few = true
		err = m.spend(set, s)
	}
	if err == nil {
		err = m.check(set)
	}
	m.family.copyLimits()
	return err
}

// spend bounds the measure, and divides the budget if a unit can be above its limits.
func (m *Measure) spend(set *aggregation, s split) error {
	if err := m.bound(set, s.all.kind == laplace); err != nil {
		return tooWide(set.at)
	}
	m.Tail = nil
	if !m.cuts() {
		return set.release(m, s.all, set.partOf(m, s))
	}
	if err := m.divide(set, s); err != nil {
		return imprecise()
	}
	return nil
}

// leastUnits is the number of units per unit that a step of a choice has to save: with fewer, the smallest limits are chosen. For
// percentiles and modes the smallest limits are no worse than a number of the policy.
const leastUnits = 15

// tooFew reports whether there are too few units for a choice, and a stated number can take its place. It follows from public numbers
// alone.
func (m *Measure) tooFew(set *aggregation) bool {
	c := set.bounds
	if set.statistics[m.statistics[0]].choosing() != nil {
		return false
	}
	return c.units > 0 && c.limit.rows > 0 && !m.unbounded(set) && slices.ContainsFunc(m.Norms, func(n Norm) bool {
		return n.Choice != nil && n.Choice.Penalty() > c.units/leastUnits
	})
}

// unbounded reports whether the measure sums values of which nothing is known, so that no limit follows from a number of rows.
func (m *Measure) unbounded(set *aggregation) bool {
	return set.bounds.maxSum == nil && slices.ContainsFunc(m.statistics, func(i int) bool {
		return slices.ContainsFunc(set.statistics[i].terms(), func(t term) bool { return t.values.technical })
	})
}

// lattice returns the fraction bits of the lattice on which a statistic is released.
func (m *Measure) lattice(s *statistic) uint {
	if m.byLevels() {
		return m.fraction(s) // weights depend on levels alone
	}
	return m.Norms[0].Grid.Lattice(m.fraction(s))
}

// divide gives choices and tail their shares. Norms whose limits are chosen divide the budget equally.
func (m *Measure) divide(set *aggregation, d split) error {
	n, s, norms := int64(len(m.statistics)), d.all, m.dividing()
	total, coordinates := set.partOf(m, d)/int64(len(norms)), 1
	switch {
	case m.byGroup.holds(): // each of K groups has the noise for units in several of them
		coordinates = set.Top.K * int(m.byGroup)
	case m.keyed:
		coordinates = set.bounds.penalised
	}
	var release, tail int64
	for _, norm := range norms {
		shares, err := contribution.Divide(s.measure(), total, coordinates, set.way(m, norm))
		if err != nil {
			return err
		}
		release, tail = release+shares.Release, tail+shares.Tail
		shares.Release = m.family.finestPart(set.forNoise(m, shares.Release) * int64(len(norms)) / n)
		if err := norm.chooseBy(s.measure(), shares, contribution.Asked{
			Groups: coordinates, Weight: m.weighting.noiseWeight(set.statistics[m.statistics[0]]),
			Grid: norm.Grid, Row: norm.row, Units: set.bounds.units,
		}); err != nil {
			return err
		}
	}
	t, err := contribution.NewTail(s.measure(), contribution.Shares{Tail: tail})
	m.Tail = &t
	if err == nil {
		err = set.release(m, s, release)
	}
	return err
}

// check makes sure that every limit has noise: it removes limits from the end of a grid whose noise would be too large to draw.
func (m *Measure) check(set *aggregation) error {
	for _, i := range m.statistics {
		if err := m.weighting.within(set.statistics[i]); err != nil {
			return err
		}
	}
	return nil
}

// withinLimits removes limits of the norm of a statistic until there is noise for the last limit.
func (s *statistic) withinLimits() error {
	m := s.measure
	at := m.weighting.normOf(s)
	norm := &m.Norms[at]
	for m.checkAt(s, m.levels(at, norm.last())) != nil || m.family.check(m.levels(at, norm.last())) != nil {
		if norm.Choices--; norm.Choices < 1 {
			return imprecise()
		}
		if len(m.Norms) == 1 {
			norm.Grid = norm.Grid.First(norm.Choices)
		}
	}
	return nil
}

func (m *Measure) checkAt(s *statistic, levels []int) error {
	for tree := range s.shape() {
		if _, err := m.mechanism(s, tree, levels); err != nil {
			return err
		}
	}
	_, err := s.choosersWithin(levels)
	return err
}

// share returns the share of a statistic in the release of its measure.
func (s *statistic) share() share {
	return split{s.measure.budget, s.measure.shares}.part(s.shares)
}

// mechanism returns the noise of a level of the tree of a statistic, if the limits are those of levels.
func (m *Measure) mechanism(s *statistic, tree int, levels []int) (mechanisms.Mechanism, error) {
	sens, err := m.sensitivity(s, levels)
	if err != nil {
		return nil, err
	}
	picos, err := s.picos(s.share())
	if err != nil {
		return nil, err
	}
	return m.budget.withPico(picos[tree]).mechanism(sens)
}

// choosing is the release of the limits, and of the units above them.
func (m *Measure) choosing() dp.ComposedEvent {
	var e dp.ComposedEvent
	if m.Shared() {
		return e
	}
	for _, n := range m.Norms {
		if n.Choice != nil {
			e = append(e, n.Choice.Event())
		}
		if n.Again != nil {
			e = append(e, n.Again.Event(), m.Tail.Event())
		}
	}
	if m.Tail != nil {
		e = append(e, m.Tail.Event())
	}
	return e
}

// releases is the release of the numbers. Its price is the same for every limit that may be chosen.
func (m *Measure) releases(set *aggregation) dp.ComposedEvent {
	var e dp.ComposedEvent
	for _, i := range m.statistics {
		s := set.statistics[i]
		if s.levels != nil {
			continue
		}
		for tree := range s.shape() {
			switch {
			case !m.chosen():
				e = append(e, must(m.mechanism(s, tree, m.leastLevels())).Event())
			case m.budget.kind == gaussian:
				e = append(e, mechanisms.RefinementOf(must(s.picos(s.share()))[tree]))
			default:
				e = append(e, dp.PureEvent{Epsilon: big.NewRat(must(s.picos(s.share()))[tree], dp.PicoPerUnit)})
			}
		}
		e = append(e, s.choiceEvents()...)
	}
	return e
}

// picos divides the budget of a statistic among the levels of its tree, or between the number of rows and the choices.
func (s *statistic) picos(of share) ([]int64, error) {
	if c := s.choosing(); c != nil {
		return splitChoices(of.pico(), c.choices())
	}
	if h, ok := s.statisticForm.(histogram); ok {
		return h.tree.Split(of.measure(), of.pico())
	}
	return []int64{of.pico()}, nil
}
