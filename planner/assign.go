package planner

import (
	"slices"

	"dpproxy/mechanisms"
	"dpproxy/pgerr"
)

// assign divides the budget among the statistics and chooses the mechanism. The Gaussian mechanism gets ρ = ε²/2, which bounds the zCDP
// cost of every ε-DP mechanism. So Laplace and Gaussian noise cost about the same, and the mechanism with the smaller error is chosen.
//
// Statistics have equal parts unless the analyst weighs aggregates: their prices add up, and nothing says which of them matters more. The
// number of partitions plays no part, since each sensitivity already bounds the number of partitions that a unit is in.
func (p *Plan) assign() error {
	s := p.settings
	if err := s.checkMechanism(); err != nil {
		return err
	}
	n, selections, numbers := p.shares(), int64(0), 0
	for _, set := range p.drawn() {
		if !s.Target.asked() {
			set.shareOfJudge(n)
		}
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
	if selections > 0 { // δ is for selections alone: noise is priced in ρ or ε
		if s.Pure || s.DeltaAtto < selections {
			return noDelta(p)
		}
		lap.all.deltaAtto = s.DeltaAtto / selections
	}
	weighed := p.weighed()
	if s.Target.asked() && n > selections*oneShare { // the selection of groups has no error to reach
		if weighed != nil {
			return weighedTarget(weighed)
		}
		return p.reachTarget(lap.part(oneShare), selections, n)
	}
	gau, least := lap, lap.part(p.leastShares())
	gau.all.kind = gaussian
	runs := runs(p, gau)
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
	case s.Mechanism == gaussian || !s.allows(laplace) || p.measures() || runs:
		lap = gau // a measure bounds one norm, and so does a matrix: for it Gaussian noise is the narrower
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

// divide gives each release its part of the budget.
func (p *Plan) divide(of split) error {
	p.Mechanism = of.all.kind
	for _, b := range p.Blocks {
		if err := joinWeights(b, of.all.kind == laplace); err != nil {
			return err
		}
		if err := (apportioner{b, of}).assign(); err != nil {
			return err
		}
		for _, set := range b.Sets {
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

// chooses reports whether the exponential mechanism makes every release, except numbers of rows and the values of chosen groups.
func (p *Plan) chooses() bool {
	for _, set := range p.sets() {
		if set.Top == nil && slices.ContainsFunc(set.statistics, func(s *statistic) bool { return s.choosing() == nil }) {
			return false
		}
	}
	return true
}

// place assigns places to all integers, when it is known which of them are chosen.
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

// measures reports whether limits of norms bound what a unit adds. Gaussian noise is for ℓ₂ norms, which never exceed ℓ₁ norms.
func (p *Plan) measures() bool {
	return slices.ContainsFunc(p.sets(), func(g *GroupingSet) bool { return len(g.Measures) > 0 })
}

// better returns the split with the smaller error over all statistics. It compares the quantiles that the analyst sees: at equal variance
// Laplace noise has the wider tails. Errors are compared by their ratio, since statistics have different units.
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

// noDelta refuses private groups if nothing may be spent on their selection. Without δ no mechanism may ever show a group of one unit: the
// group would reveal the unit with certainty.
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
	g.division = &s
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

// assign gives a statistic its mechanism, or a mechanism for each level of a histogram.
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
		mech, err := s.noiseFor(of.withPico(pico))
		if err != nil {
			return imprecise()
		}
		s.levels = append(s.levels, mech)
	}
	return nil
}

// noiseFor returns the noise of a statistic of which each unit has one row.
func (s *statistic) noiseFor(of share) (mechanisms.Mechanism, error) {
	switch {
	case s.along == 0:
		return of.mechanism(s.sensitivity)
	case of.kind != gaussian:
		return nil, imprecise()
	}
	return mechanisms.TotalsFor(s.sensitivity, s.along, of.rhoPico)
}

// shareOfJudge notes which part of so many shares a count has that is released for the judge alone.
func (g *GroupingSet) shareOfJudge(shares int64) {
	if g.judge != nil && g.judge.added && shares > 0 {
		g.judge.part = float64(g.statistics[g.judge.statistic].shares) / float64(shares)
	}
}
