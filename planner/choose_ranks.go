package planner

import (
	"math"
	"slices"

	"dpproxy/estimate"
	"dpproxy/pgerr"
)

// A rankChooser decides how percentiles of a grouping set are answered, and gives those that are chosen
// their mechanisms.
type rankChooser struct {
	*GroupingSet
	of       split
	settings Settings
}

// plans lists the histograms of the grouping set with what is read off them.
func (g rankChooser) plans() []*rankPlan {
	var out []*rankPlan
	for i := range g.outputs {
		o := &g.outputs[i]
		e, ok := o.estimator.(percentileEstimator)
		if !ok {
			continue
		}
		at := slices.IndexFunc(out, func(p *rankPlan) bool { return p.statistic == e.histogram })
		if at < 0 {
			out, at = append(out, &rankPlan{statistic: e.histogram}), len(out)
		}
		out[at].add(i, o, e)
	}
	for _, p := range out {
		slices.SortFunc(p.fractions, fraction.compare) // whatever their order in the statement
		for i := range g.outputs {
			if e, ok := g.outputs[i].estimator.(extremeEstimator); ok && e.histogram == p.statistic {
				p.why = g.outputs[i].label + " is read off the histogram"
			}
		}
		switch {
		case p.why != "":
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

// add adds a percentile.
func (p *rankPlan) add(i int, o *output, e percentileEstimator) {
	p.outputs = append(p.outputs, i)
	if o.report == "lower" || o.report == "upper" {
		p.why = "dp." + o.report + " is read off the histogram"
	}
	for _, q := range e.fractions {
		if q == nil {
			continue
		}
		up := e.upwards(*q)
		if up <= 0 || up >= 1 {
			p.why = "the fractions 0 and 1 are read off the histogram"
			continue
		}
		if f := fractionOf(up); !slices.Contains(p.fractions, f) {
			p.fractions = append(p.fractions, f)
		}
	}
}

// choose replaces histograms by choices of buckets where the error of their ranks is the less, by public numbers
// alone: the number of fractions, the buckets, and what either does for the same price. It comes when the
// histograms have their mechanisms.
func (g rankChooser) choose() error {
	if err := g.checkModes(); err != nil {
		return err
	}
	g.ranks = g.plans()
	for _, p := range g.ranks {
		var err error
		if p.why != "" {
			err = g.refuse(p)
		} else {
			err = g.compare(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuse refuses percentiles that are asked for by choices, and cannot be.
func (g rankChooser) refuse(p *rankPlan) error {
	if g.settings.Mechanism != exponential || !g.settings.allows(exponential) || len(p.fractions) == 0 {
		return nil
	}
	o := &g.outputs[p.outputs[0]]
	return pgerr.New(pgerr.InvalidParameterValue, "the mechanism exponential cannot answer %s here", o.label).At(o.at).
		WithDetail("It is read off a histogram: %s.", p.why).WithHint("SET dp.mechanism = auto.")
}

// compare takes the choices if they are better.
func (g rankChooser) compare(p *rankPlan) error {
	st := g.statistics[p.statistic]
	tree := st.statisticForm.(histogram) //nolint:forcetypeassert // percentiles are read off histograms
	shape, err := bucketsOf(tree.term, g.size)
	if err != nil {
		return err
	}
	p.histogram = g.errorOfHistogram(p)
	st.statisticForm = quantiles{histogram{tree.term, shape}, p.fractions}
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

// checkModes refuses modes where the policy does not allow the only mechanism that chooses them.
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

// assignTo gives one statistic its mechanisms anew.
func (g rankChooser) assignTo(s *statistic) error {
	if s.measure != nil {
		return s.measure.assign(&g.aggregation, g.of)
	}
	return s.assign(g.of.part(s.shares))
}

// show replaces the estimators of the percentiles.
func (g rankChooser) show(p *rankPlan, shape estimate.Shape) {
	for _, i := range p.outputs {
		e, _ := g.outputs[i].estimator.(percentileEstimator)
		c := chosenPercentile{percentileOf: e.percentileOf, ranked: e.ranked, fractions: e.fractions, shape: shape}
		for _, q := range e.fractions {
			at := -1
			if q != nil {
				at = slices.Index(p.fractions, fractionOf(e.upwards(*q)))
			}
			c.choices = append(c.choices, at)
		}
		g.outputs[i].estimator = c
	}
}

// errorOfHistogram is the largest error of a rank that is read off the histogram, in rows of the limit.
func (g rankChooser) errorOfHistogram(p *rankPlan) float64 {
	clips, limit := g.statistics[p.statistic].comparedAt(g.leastClips())
	r, most := g.observed(integers{clips: clips}), 0.0
	for _, i := range p.outputs {
		e, _ := g.outputs[i].estimator.(percentileEstimator)
		for _, q := range e.fractions {
			if q != nil {
				most = math.Max(most, must(e.tree(r).RankError(e.upwards(*q), r.alpha)).Most()/limit)
			}
		}
	}
	return most
}

// errorOfChoices is the largest error of a choice, in rows of the limit.
func (g rankChooser) errorOfChoices(p *rankPlan) float64 {
	s := g.statistics[p.statistic]
	clips, limit := s.comparedAt(g.leastClips())
	r, most := g.observed(integers{clips: clips}), 0.0
	for i := range p.fractions {
		most = math.Max(most, r.choiceError(p.statistic, i)/limit)
	}
	return most
}
