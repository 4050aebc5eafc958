package planner

import (
	"slices"

	"dpproxy/pgerr"
)

// assign divides the budget among the statistics and chooses the mechanism. The
// Gaussian mechanism gets ρ = ε²/2, the cost in zCDP that every ε-DP mechanism
// stays below, so that both cost about the same and the better one is the one
// with the smaller error.
//
// Shares are equal: the prices of statistics add up, and nothing tells which of them matters
// more to the analyst. The number of partitions does not count, since the rows of one unit are
// in a bounded number of them: that is part of each sensitivity.
func (p *Plan) assign() error {
	s := p.settings
	if err := s.checkMechanism(); err != nil {
		return err
	}
	n, selections := p.shares(), int64(0)
	for _, set := range p.sets() {
		if set.Private() {
			selections++
		}
	}
	p.Mechanism = laplace
	if n == 0 {
		return nil
	}
	lap := share{kind: laplace, epsilonPico: s.EpsilonPico / n, rhoPico: halfSquare(s.EpsilonPico) / n, choices: laplace}
	if !s.Pure && s.allows(gaussian) {
		lap.choices = gaussian
	}
	if selections > 0 { // δ is for selections alone: noise has its whole price in ρ or ε
		if s.Pure || s.DeltaAtto < selections {
			return noDelta(p)
		}
		lap.deltaAtto = s.DeltaAtto / selections
	}
	if s.Target.asked() && n > selections { // the selection of groups has no error to ask for
		return p.reachTarget(lap, selections, n)
	}
	gau := lap
	gau.kind = gaussian
	switch {
	case s.Mechanism == gaussian && s.Pure:
		return pgerr.New(pgerr.Imprecise, "the gaussian mechanism has no finite cost in a pure budget").
			WithHint("SET dp.mechanism = laplace, or auto.")
	case !s.allows(laplace) && (s.Pure || !s.allows(gaussian)):
		return pgerr.New(pgerr.Imprecise, "the policy allows no mechanism for this statement").
			WithHint("SET dp.error or dp.relative_error: other mechanisms may be allowed for that.")
	case lap.epsilonPico < 1 || !s.Pure && gau.rhoPico < 1:
		return pgerr.New(pgerr.Imprecise, "dp.epsilon is too small for a statement with %d aggregates", n).
			WithHint("Raise dp.epsilon.")
	case s.Mechanism == laplace || s.Pure || !s.allows(gaussian):
	case s.Mechanism == gaussian || !s.allows(laplace) || p.measures():
		lap = gau // of one norm its noise is the narrower
	default:
		better, err := p.better(lap, gau, s.Alpha)
		if err != nil {
			return err
		}
		lap = better
	}
	p.Mechanism = lap.kind
	for _, b := range p.Blocks {
		if err := joinWeights(b, lap.kind == laplace); err != nil {
			return err
		}
		for _, set := range b.Sets {
			if err := set.assign(lap); err != nil {
				return err
			}
			if err := (rankChooser{set, lap, s}).choose(); err != nil {
				return err
			}
		}
	}
	if p.chooses() {
		p.Mechanism = exponential
	}
	return nil
}

// chooses reports whether all that is released is chosen, but for numbers of rows and what is measured of chosen groups.
func (p *Plan) chooses() bool {
	for _, set := range p.sets() {
		if set.Top == nil && slices.ContainsFunc(set.statistics, func(s *statistic) bool { return s.choosing() == nil }) {
			return false
		}
	}
	return true
}

// place gives integers their places, when it is known which are chosen.
func (p *Plan) place() error {
	cells := 0
	for _, g := range p.sets() {
		g.place()
		if cells += g.size * (g.Integers() + len(g.keys)); cells > maxCells {
			return tooManyCells()
		}
	}
	for _, g := range p.sets() {
		g.totals.place(g)
	}
	return nil
}

// measures reports whether limits of norms bound what a unit adds: ℓ₂ norms, which are never larger than
// ℓ₁ norms, under Gaussian noise.
func (p *Plan) measures() bool {
	return slices.ContainsFunc(p.sets(), func(g *GroupingSet) bool { return len(g.Measures) > 0 })
}

// better returns the share with the smaller error over all statistics together. Quantiles are
// compared, as they are shown to the analyst: at equal variance the tails of Laplace noise are wider.
// Each statistic counts by the ratio of both errors, since their units differ.
func (p *Plan) better(a, b share, alpha float64) (share, error) {
	ratio := 0.0
	for _, set := range p.sets() {
		for _, m := range set.statistics {
			ma, err := a.mechanism(m.sensitivity)
			if err != nil {
				return share{}, imprecise()
			}
			mb, err := b.mechanism(m.sensitivity)
			if err != nil {
				return share{}, imprecise()
			}
			qa, qb := ma.Quantile(alpha), mb.Quantile(alpha)
			ratio += (qb - qa) / max(qa, qb, 1)
		}
	}
	if ratio <= 0 {
		return b, nil
	}
	return a, nil
}

// noDelta refuses private groups where nothing may be spent on their selection. Without δ no
// mechanism could show a group of one unit: that it is there tells of the unit for certain.
func noDelta(p *Plan) error {
	for _, b := range p.Blocks {
		for _, set := range b.Sets {
			if !set.Private() {
				continue
			}
			at := b.block.at
			if len(set.keys) > 0 {
				at = b.block.keys[set.keys[0]].at
			}
			return pgerr.New(pgerr.PrivateGroupKey, "which groups occur is itself protected, and the budget has no delta to select them").
				At(at).
				WithHint("Group by columns with declared values or bounds, or ask the administrator for a budget with delta.")
		}
	}
	return nil
}

// assign gives every statistic its mechanism.
func (g *GroupingSet) assign(s share) error {
	if err := g.selecting(s); err != nil {
		return err
	}
	for _, m := range g.Measures {
		if m.Shared {
			continue
		}
		if err := m.assign(&g.aggregation, s); err != nil {
			return err
		}
	}
	for _, st := range g.statistics {
		if st.measure != nil {
			continue
		}
		if err := st.assign(s); err != nil {
			return err
		}
	}
	if g.Top != nil && g.statistics[g.Top.statistic].measure == nil {
		of := s.forChoices()
		if g.Top.give(of.withPico(of.pico()*g.topShares())) != nil {
			return imprecise()
		}
	}
	return nil
}

// assign gives a statistic its mechanism, of a histogram one for each level.
func (s *statistic) assign(of share) error {
	if s.choosing() != nil {
		of = of.forChoices()
	}
	picos, err := s.picos(of)
	if err != nil {
		return imprecise()
	}
	s.levels, s.budget = nil, of
	if s.chosenBy, err = s.choosersFor(of, s.sensitivity.LInf); err != nil {
		return imprecise()
	}
	for _, pico := range picos[:len(s.shape())] {
		mech, err := of.withPico(pico).mechanism(s.sensitivity)
		if err != nil {
			return imprecise()
		}
		s.levels = append(s.levels, mech)
	}
	return nil
}
