package planner

import (
	"fmt"
	"math"

	"dpproxy/mechanisms"
)

// maxTop bounds the number of groups that are chosen.
const maxTop = 100

// A topChooser decides whether the top groups are chosen by the exponential mechanism, or read from all groups with noise. It depends on
// the policy, the statement and its settings alone.
type topChooser struct {
	*GroupingSet
	settings Settings
	clause   *topClause
	k        int64
	alone    bool // the statement has no other block
	unit     string
}

// choose gives the grouping set its top, or the reason why it has none.
func (c topChooser) choose() {
	if c.whyNot = c.refusal(); c.whyNot != "" {
		c.remedy = c.wayToChoose()
		return
	}
	o := &c.outputs[c.clause.aggregate]
	c.Top = &Top{K: int(c.k), statistic: o.statistics()[0], output: c.clause.aggregate}
	for _, m := range c.Measures {
		m.byGroup = byGroup(min(c.k, c.bounds.groups))
	}
}

// showNone leaves the set without groups, so that nothing is read.
func (a *aggregation) showNone() {
	a.partitions = partitions{keys: a.keys, lists: []*list{}}
	a.statistics, a.Measures = nil, nil
}

// refusal says why the top is read from all groups; it is empty if the top can be chosen.
func (c topChooser) refusal() string {
	s := c.settings
	switch {
	case s.Top == topOff:
		return "dp.top = off"
	case !s.allows(exponential):
		return "the policy does not allow the mechanism exponential"
	case s.Mechanism != auto && s.Mechanism != exponential:
		return "dp.mechanism = " + s.Mechanism
	case s.Target.asked():
		return "an error is asked for"
	case s.Consistent:
		return "dp.consistent = on"
	case !c.alone:
		return "the statement has several queries over protected rows"
	case c.Private():
		return "the groups are private"
	case c.k > maxTop:
		return fmt.Sprintf("LIMIT is more than %d", maxTop)
	case 2*c.k > int64(c.size):
		return "LIMIT is more than half of the groups"
	}
	if why := c.notCounted(); why != "" || s.Top == topOn {
		return why
	}
	switch n := c.unitGroups(); {
	case n < 1:
		return fmt.Sprintf("no max_partitions says in how many groups one %s is", c.unit)
	case 2*c.k > n:
		return fmt.Sprintf("twice %d is more than the %d groups that one %s is in", c.k, n, c.unit)
	}
	return ""
}

// wayToChoose says how the groups can be chosen, if that makes them more precise or may do so; "" otherwise. It costs half of the budget,
// which pays off if a unit is in so many groups that the noise of all of them is larger.
func (c topChooser) wayToChoose() string {
	off := c.settings.Top == topOff
	if c.settings.Top = topAuto; off && c.refusal() == "" {
		return " SET dp.top = auto chooses them first, and measures them anew."
	}
	if c.settings.Top = topOn; c.refusal() != "" || c.unitGroups() > 0 {
		return ""
	}
	return fmt.Sprintf(" If many a %s is in more than %d groups, SET dp.top = on, which chooses them first, makes them more precise.",
		c.unit, 2*c.k)
}

// unitGroups bounds the number of groups of one unit, by a proof, the policy or the session; 0 is no bound.
func (c topChooser) unitGroups() int64 {
	if c.GroupingSet.alone() {
		return 1
	}
	return min(c.bounds.limit.groups, c.bounds.groups)
}

// notCounted says why groups cannot be chosen; "" if they can be. Each aggregate must be a count or a sum in which a unit changes each
// group separately, and the groups must be ordered by a value that is not an error and cannot be negative.
func (c topChooser) notCounted() string {
	for i := range c.outputs {
		o := &c.outputs[i]
		linear := false
		switch o.estimator.(type) {
		case counted, countedTo, summed:
			s := c.statistics[o.statistics()[0]]
			linear = s.own() == nil && s.nodes() == 1 && (s.measure == nil || s.measure.weighting.leavesOut())
		}
		if !linear {
			return o.label + " is neither a count of rows or units nor a sum"
		}
	}
	o := &c.outputs[c.clause.aggregate]
	if sum, ok := o.estimator.(summed); ok {
		of, values := c.statistics[o.statistics()[0]].statisticForm.(valueSum)
		if sum.factor.Sign() < 0 || values && of.values.low < 0 {
			return o.label + " is of values that can be negative"
		}
	}
	if o.report != "" {
		return "ORDER BY is of an error"
	}
	return ""
}

// ofTop reports whether groups are chosen by a statistic of the measure.
func (a *aggregation) ofTop(m *Measure) bool {
	return a.Top != nil && a.statistics[a.Top.statistic].measure == m
}

// topShares is how many shares the choice of groups has: as many as all statistics together, half of the budget.
func (a *aggregation) topShares() int64 {
	if a.Top == nil {
		return 0
	}
	return a.statisticShares()
}

// partOf is the part of the budget that a measure has in all grouping sets, including the choice of groups by it.
func (a *aggregation) partOf(m *Measure, s split) int64 {
	n := int64(0)
	for _, i := range m.statistics {
		n += s.part(a.statistics[i].shares).pico()
	}
	n *= m.family.sets()
	if a.ofTop(m) {
		n += s.part(a.topShares()).pico()
	}
	return n
}

// forNoise is the part of the price of a measure that is for noise, without the choice of groups by it.
func (a *aggregation) forNoise(m *Measure, pico int64) int64 {
	if !a.ofTop(m) {
		return pico
	}
	own := a.statistics[a.Top.statistic].shares
	return proportion(pico, own, own+a.topShares())
}

// release divides the price of the release of a measure.
func (a *aggregation) release(m *Measure, s share, pico int64) error {
	noise := a.forNoise(m, pico)
	m.family.release(m, s, noise)
	if !a.ofTop(m) {
		return nil
	}
	return a.Top.give(s.withPico(pico - noise))
}

// Choose draws the groups that are shown, by the exact statistic of each group with its units within the limits, in the order of their
// keys. The caller must have charged Event, durably, before.
func (a *aggregation) Choose(src mechanisms.Source, clips []Clip, scores []mechanisms.Private) ([]int, error) {
	s := a.statistics[a.Top.statistic]
	limit := s.sensitivity.LInf
	if s.measure != nil {
		sens, err := s.measure.sensitivity(s, clips[s.measure.at].Levels)
		if err != nil {
			return nil, err
		}
		limit = sens.LInf
	}
	choice := a.Top.mechanisms.get(limit, func() mechanisms.Top { return must(a.Top.within(limit)) })
	return choice.Choose(src, scores)
}

// TopPlace returns the place of the integer by which groups are chosen.
func (a *aggregation) TopPlace() int { return a.statistics[a.Top.statistic].place }

// ShowsKeys reports whether a released relation of the set contains the keys of its rows, because not all groups are shown.
func (a *aggregation) ShowsKeys() bool { return a.Private() || a.Top != nil }

// Shows returns how many groups of the set are shown, −1 if partition selection decides it.
func (a *aggregation) Shows() int {
	switch {
	case a.Private():
		return -1
	case a.Top != nil:
		return a.Top.K
	}
	return a.size
}

// topLimit is the most that a unit adds to the score of a group if the limit of its measure is that of a level.
func (r *results) topLimit(level int) float64 {
	s := r.statistics[r.Top.statistic]
	scale, _ := unitOf(s)
	if s.measure == nil {
		return float64(s.sensitivity.LInf) * scale
	}
	return s.measure.Norms[0].Grid.Limit(level) * scale
}

// missedAt writes by how much a group that is left out may exceed a group that is shown.
func (r *results) missedAt(level int) string {
	_, of := unitOf(r.statistics[r.Top.statistic])
	return TwoDigits(r.Top.missed(r.size, r.alpha)*r.topLimit(level), math.Ceil) + of
}

// explainTop writes how the top of the grouping set is found, if it is asked for, with its part of the budget.
func (r *results) explainTop(w *tree, depth int, part string) {
	if r.whyNot != "" {
		w.line(depth, "all groups, not the top alone: %s", r.whyNot)
	}
	if r.Top == nil {
		return
	}
	s, level := r.statistics[r.Top.statistic], 0
	if s.measure != nil {
		level = s.measure.Norms[0].Fixed
	}
	sensitivity, missed := Number(r.topLimit(level)), r.missedAt(level)
	if s.measure != nil && s.measure.chosen() {
		_, of := unitOf(s)
		sensitivity, missed = "C", Number(r.Top.missed(r.size, r.alpha))+" C"+of
	}
	w.line(depth, "top %d of %d groups by %s: chosen with sensitivity %s, %d times %v%s", r.Top.K, r.size, r.outputs[r.Top.output].label,
		sensitivity, r.Top.K, r.Top.Event()[0], part)
	w.line(depth+1, "a group that is left out: at most %s more than one that is shown (%s %%)", missed, Number(100*(1-r.alpha)))
}
