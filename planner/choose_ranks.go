package planner

import (
	"math"
	"slices"

	"dpproxy/estimate"
	"dpproxy/pgerr"
)

// A rankChooser decides how percentiles, MIN and MAX of a grouping set are answered, and gives those that are chosen their mechanisms.
type rankChooser struct {
	*GroupingSet
	of       split
	settings Settings
	// miss is the probability with which an interval may miss its value.
	miss float64
}

// groupsAtOnce is the number of private groups over which intervals hold simultaneously, if released values decide which groups are shown:
// their ends are chosen before the number of groups is known. With more groups the error is unknown.
const groupsAtOnce = 1 << 8

// alphaOfIntervals is one minus the confidence for which ends of intervals are chosen.
func alphaOfIntervals(b *BlockPlan) float64 {
	if alpha := atConfidence(b, nil); alpha > 0 {
		return alpha
	}
	return max(b.alpha/groupsAtOnce, leastAlpha)
}

// plans lists the histograms of the grouping set, with the values that are read from each.
func (g rankChooser) plans() []*rankPlan {
	var out []*rankPlan
	for i := range g.outputs {
		o := &g.outputs[i]
		at, fractions, ok := rankOf(o.estimator)
		if !ok {
			continue
		}
		n := slices.IndexFunc(out, func(p *rankPlan) bool { return p.statistic == at })
		if n < 0 {
			out, n = append(out, &rankPlan{statistic: at, alpha: g.miss}), len(out)
		}
		out[n].add(i, fractions, g.asksEnds(o))
		out[n].alpha = min(out[n].alpha, g.missOf(o))
	}
	for _, p := range out {
		slices.SortFunc(p.fractions, func(a, b askedFraction) int { return a.compare(b.fraction) }) // whatever the order in the statement
		switch {
		case !g.settings.allows(exponential):
			p.why = "not allowed by the policy"
		case g.settings.Mechanism != auto && g.settings.Mechanism != exponential:
			p.why = "dp.mechanism = " + g.settings.Mechanism
		case len(p.fractions) == 0:
			p.why = "all fractions are NULL"
		}
	}
	return out
}

// rankOf returns the histogram that an estimator reads, and its fractions in ascending order, nil for NULL. ok is false for other
// estimators.
func rankOf(e estimator) (statistic int, fractions []*fraction, ok bool) {
	switch e := e.(type) {
	case percentileEstimator:
		for _, q := range e.fractions {
			if q == nil {
				fractions = append(fractions, nil)
				continue
			}
			f := fractionOf(e.upwards(*q))
			fractions = append(fractions, &f)
		}
		return e.histogram, fractions, true
	case extremeEstimator:
		f := fraction{0, 1}
		if !e.least {
			f = fraction{1, 1}
		}
		return e.histogram, []*fraction{&f}, true
	}
	return 0, nil, false
}

// asksEnds reports whether an output needs an interval: a report of its error does, and a value unless the session turns intervals off.
func (g rankChooser) asksEnds(o *output) bool {
	if o.report == "" {
		return !g.settings.NoIntervals
	}
	return !o.silent && !o.asksCut()
}

// missOf is the probability with which the interval of an output may miss; a call can state a confidence of its own.
func (g rankChooser) missOf(o *output) float64 {
	if o.level == 0 {
		return g.miss
	}
	return max(g.miss*(1-o.level)/g.alpha, leastAlpha)
}

// choose replaces a histogram by choices of buckets if the values, or the ends of their intervals, are nearer by rank at the same price. It
// compares the two by public numbers alone: the number of choices, the buckets and the prices. The widths of intervals depend on the data,
// and taking the narrower of two would spoil their confidence. The histograms must have their mechanisms.
func (g rankChooser) choose() error {
	if err := g.checkModes(); err != nil {
		return err
	}
	g.ranks = g.plans()
	for _, p := range g.ranks {
		if p.why != "" {
			continue
		}
		if err := g.compare(p); err != nil {
			return err
		}
	}
	return nil
}

// compare takes the choices if they have the smaller error.
func (g rankChooser) compare(p *rankPlan) error {
	st := g.statistics[p.statistic]
	tree := st.statisticForm.(histogram) //nolint:forcetypeassert // only histograms have ranks
	shape, err := bucketsOf(tree.term, g.size)
	if err != nil {
		return err
	}
	p.histogram = g.errorOfHistogram(p)
	st.statisticForm = quantiles{histogram{tree.term, shape}, p.aims(), p.alpha}
	err = g.assignTo(st)
	if err == nil {
		p.choice = g.errorOfChoices(p)
	}
	if g.settings.Mechanism == exponential && err != nil {
		return err
	}
	if p.chosen = err == nil && (g.settings.Mechanism == exponential || p.choice < p.histogram); p.chosen {
		g.show(p, shape)
		return nil
	}
	st.statisticForm = tree
	return g.assignTo(st)
}

// checkModes refuses modes if the policy does not allow the exponential mechanism, which alone chooses them.
func (g rankChooser) checkModes() error {
	for i := range g.outputs {
		o := &g.outputs[i]
		if _, ok := o.estimator.(modeEstimator); ok && !g.settings.allows(exponential) {
			return pgerr.New(pgerr.NotAllowed, "%s needs the mechanism exponential, which the policy does not allow", o.label).At(o.at).
				WithHint("Count the values: SELECT x, count(*) ... GROUP BY x.")
		}
	}
	return nil
}

// assignTo gives a statistic its mechanisms again.
func (g rankChooser) assignTo(s *statistic) error {
	if s.measure != nil {
		return s.measure.assign(&g.aggregation, g.of)
	}
	return s.assign(g.of.part(s.shares))
}

// show replaces the estimators of the outputs.
func (g rankChooser) show(p *rankPlan, shape estimate.Shape) {
	for _, i := range p.outputs {
		o := &g.outputs[i]
		c := chosenRank{shape: shape, alpha: p.alpha}
		switch e := o.estimator.(type) {
		case percentileEstimator:
			c.ranked, c.array = e.ranked, e.array
		case extremeEstimator:
			c.ranked = e.ranked
		}
		_, fractions, _ := rankOf(o.estimator)
		for _, f := range fractions {
			if f == nil {
				c.cells = append(c.cells, chosenCell{null: true})
				continue
			}
			c.cells = append(c.cells, cellOf(*f, p.aims()))
		}
		o.estimator = c
	}
}

// errorOfHistogram is the rank error of a value that is read from the histogram, or of an end of its interval if that is asked for, in
// units of the limit. An end is moved by the error of the counts, and the counts at the end have that error again: hence the factor 2.
func (g rankChooser) errorOfHistogram(p *rankPlan) float64 {
	clips, limit := g.statistics[p.statistic].comparedAt(g.leastClips())
	r, most := g.observed(integers{clips: clips}).at(p.alpha), 0.0
	for _, i := range p.outputs {
		switch e := g.outputs[i].estimator.(type) {
		case percentileEstimator:
			for _, q := range e.fractions {
				if q == nil {
					continue
				}
				far := must(e.tree(r).RankError(e.upwards(*q), r.alpha)).Most() / limit
				if p.endsOf(fractionOf(e.upwards(*q))) {
					far *= 2
				}
				most = math.Max(most, far)
			}
		case extremeEstimator:
			most = math.Max(most, e.estimatorOf(r).Most()/limit)
		}
	}
	return most
}

// errorOfChoices is the rank error of a chosen value or end of an interval, in units of the limit.
func (g rankChooser) errorOfChoices(p *rankPlan) float64 {
	s := g.statistics[p.statistic]
	clips, limit := s.comparedAt(g.leastClips())
	r, most := g.observed(integers{clips: clips}).at(p.alpha), 0.0
	for i := range p.aims() {
		most = math.Max(most, r.choiceError(p.statistic, i)/limit)
	}
	return most
}
