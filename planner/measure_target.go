package planner

import (
	"errors"

	"dpproxy/contribution"
	"dpproxy/dp"
)

// fixedGoal returns the sensitivity of a statistic at the only limit of its measure, and the largest error on the lattice of the statistic
// for which the rounded value is off by at most boundary.
func (m *Measure) fixedGoal(set *aggregation, s *statistic, boundary int64, laplace bool) (dp.Sensitivity, int64, error) {
	if err := m.bound(set, laplace); err != nil {
		return dp.Sensitivity{}, 0, err
	}
	if m.chosen() {
		return dp.Sensitivity{}, 0, errChosen
	}
	sens, err := m.sensitivity(s, m.leastLevels())
	if bits := m.lattice(s); bits > 0 {
		const most = 1 << 52
		boundary = min(boundary, most>>bits)<<bits - 1<<(bits-1)
	}
	return sens, max(boundary, 0), err
}

var errChosen = errors.New("planner: the limit is not known before the answer")

// tailBeside is the price of the tail of a measure whose noise has a price.
func tailBeside(pico int64) int64 { return max(pico/9, 1) }

// statedBeside gives a measure with one limit its tail, on top of noise at given prices.
func (m *Measure) statedBeside(prices []int64, of dp.Measure) error {
	if !m.cuts() {
		return nil
	}
	total := int64(0)
	for _, i := range m.statistics {
		total += tailBeside(prices[i])
	}
	t, err := contribution.NewTail(of, contribution.Shares{Tail: total})
	m.Tail = &t
	return err
}

// reduced returns the noise reduction of the set, at most at a price. A measure pays for limits and tail what a statement of the typical
// price would pay: a larger allowance does not make them dearer.
func (g *GroupingSet) reduced(kind string, poolPico int64, s Settings) (*NoiseReduction, error) {
	kindOf, typical := share{kind: gaussian}, halfSquare(s.TypicalPico)
	if kind == laplaceReduction {
		kindOf.kind, typical = laplace, s.TypicalPico
	}
	if s.TypicalPico < 1 {
		typical = poolPico
	}
	each := split{kindOf.withPico(min(poolPico, typical)), g.statisticShares()}
	left := poolPico
	for _, m := range g.Measures {
		if err := m.assign(&g.aggregation, each); err != nil {
			return nil, err
		}
		for _, i := range m.statistics {
			s := g.statistics[i]
			left -= each.part(s.shares).pico() - s.share().pico()
		}
	}
	c := &NoiseReduction{Mechanism: kind, PoolPico: left, settings: s, results: &g.results}
	c.PilotPico = max(left/c.pilots(), int64(len(g.statistics)))
	if err := g.boundPilot(c.PilotPico / int64(len(g.statistics))); err != nil {
		return nil, err
	}
	return c.Within(nil)
}

// boundPilot drops limits from the end of grids at which the first round would be too noisy to be drawn.
func (g *GroupingSet) boundPilot(pico int64) error {
	for _, m := range g.Measures {
		rest := m.budget
		m.budget = share{kind: rest.kind}.withPico(pico * int64(len(m.statistics)))
		err := m.check(&g.aggregation)
		if m.budget = rest; err != nil {
			return err
		}
	}
	return nil
}

// sensitivityOf returns the sensitivity of a statistic on its lattice of 2^−bits, at the chosen limits, or, if clips is nil, at the
// smallest.
func (s *statistic) sensitivityOf(clips []Clip) (sens dp.Sensitivity, bits uint, err error) {
	if s.measure == nil {
		return s.sensitivity, 0, nil
	}
	levels := s.measure.leastLevels()
	if clips != nil {
		levels = clips[s.measure.at].Levels
	}
	sens, err = s.measure.sensitivity(s, levels)
	return sens, s.measure.lattice(s), err
}
