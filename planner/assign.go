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
// Parts are equal, but for aggregates that the analyst weighs: the prices of statistics add up, and nothing else
// tells which of them matters more. The number of partitions does not count, since the rows of one unit are
// in a bounded number of them: that is part of each sensitivity.
func (p *Plan) assign() error {
	s := p.settings
	if err := s.checkMechanism(); err != nil {
		return err
	}
	n, selections, numbers := p.shares(), int64(0), 0
	for _, set := range p.drawn() {
		numbers += len(set.statistics)
		if set.Private() {
			selections++
		}
	}
	p.Mechanism = laplace
	if n == 0 {
		return nil
	}
	lap := split{share{kind: laplace, epsilonPico: s.EpsilonPico, rhoPico: halfSquare(s.EpsilonPico), choices: laplace}, n}
	if !s.Pure && s.allows(gaussian) {
		lap.all.choices = gaussian
	}
	if selections > 0 { // δ is for selections alone: noise has its whole price in ρ or ε
		if s.Pure || s.DeltaAtto < selections {
			return noDelta(p)
		}
		lap.all.deltaAtto = s.DeltaAtto / selections
	}
	weighed := p.weighed()
	if s.Target.asked() && n > selections*oneShare { // the selection of groups has no error to ask for
		if weighed != nil {
			return weighedTarget(weighed)
		}
		return p.reachTarget(lap.part(oneShare), selections, n)
	}
	gau, least := lap, lap.part(p.leastShares())
	gau.all.kind = gaussian
	switch {
	case s.Mechanism == gaussian && s.Pure:
		return pgerr.New(pgerr.Imprecise, "the gaussian mechanism has no finite cost in a pure budget").
			WithHint("SET dp.mechanism = laplace, or auto.")
	case !s.allows(laplace) && (s.Pure || !s.allows(gaussian)):
		return pgerr.New(pgerr.Imprecise, "the policy allows no mechanism for this statement").
			WithHint("SET dp.error or dp.relative_error: other mechanisms may be allowed for that.")
	case least.epsilonPico < 1 || !s.Pure && least.rhoPico < 1:
		return pgerr.New(pgerr.Imprecise, "dp.epsilon is too small for a statement with %d aggregates", numbers+int(selections)).
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
	if weighed != nil {
		for _, set := range p.sets() {
			set.of = &lap
		}
	}
	return p.divide(lap)
}

// divide gives all that is released its part of the budget.
func (p *Plan) divide(of split) error {
	p.Mechanism = of.all.kind
	for _, b := range p.Blocks {
		if err := joinWeights(b, of.all.kind == laplace); err != nil {
			return err
		}
		for _, set := range b.Sets {
			if err := set.assign(of); err != nil {
				return err
			}
			if err := (rankChooser{set, of, p.settings, alphaOfIntervals(b)}).choose(); err != nil {
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

// better returns the split with the smaller error over all statistics together. Quantiles are
// compared, as they are shown to the analyst: at equal variance the tails of Laplace noise are wider.
// Each statistic counts by the ratio of both errors, since their units differ.
func (p *Plan) better(a, b split, alpha float64) (split, error) {
	ratio := 0.0
	for _, set := range p.drawn() {
		for _, m := range set.statistics {
			ma, err := a.part(m.shares).mechanism(m.sensitivity)
			if err != nil {
				return split{}, imprecise()
			}
			mb, err := b.part(m.shares).mechanism(m.sensitivity)
			if err != nil {
				return split{}, imprecise()
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
func (g *GroupingSet) assign(s split) error {
	if err := g.selecting(s.part(oneShare)); err != nil {
		return err
	}
	for _, m := range g.Measures {
		if m.Shared() {
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
		if err := st.assign(s.part(st.shares)); err != nil {
			return err
		}
	}
	if g.Top != nil && g.statistics[g.Top.statistic].measure == nil {
		of := s.forChoices()
		if g.Top.give(of.part(g.topShares())) != nil {
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
