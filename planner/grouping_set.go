package planner

import (
	"cmp"
	"math"
	"slices"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner/scalar"
)

// A GroupingSet answers a grouping set of a block: it says which statistics are read, and with which noise they are released.
type GroupingSet struct {
	// Reads are the statements for the protected database. Without any, the grouping set shows public keys only.
	Reads []*Read
	// Selection decides which partitions are shown; nil if the keys are public or there are no keys. It is applied to the weight of each
	// partition that has a unit.
	Selection Selection
	// Reduction says how integers are released if the answer decides how much noise they need; otherwise it is nil, and the noise is
	// [GroupingSet.Noise].
	Reduction *NoiseReduction

	totals *Totals
	// strays are the rows that no group has as they are.
	strays []stray
	// coarser is what is known of public groups in the place of private ones; nil if the groups are public.
	coarser *Coarser
	results
	ranks []*rankPlan // how percentiles are answered
	of    *split      // of the statement; nil if all parts of it are equal
	// division is how the budget was divided among its statistics; nil if it was not, since an error is asked for.
	division *split
}

// Totals says which integers of the set are sums over partitions of another set; nil if none are.
func (g *GroupingSet) Totals() *Totals { return g.totals }

// perPercentile is how many steps it takes to decide how a percentile is answered.
const perPercentile = 80_000

// work is how many steps its statistics take, each of which is compared with all others, its percentiles, and the noise of its groups if
// they are measured together: that of each is compared with those that differ, eight in a step.
func (g *GroupingSet) work() int {
	percentiles, together := 0, 0
	if g.running != nil {
		together = g.size * g.running.longest / 8
	}
	for i := range g.outputs {
		_, fractions, _ := rankOf(g.outputs[i].estimator)
		percentiles += len(fractions)
	}
	n := len(g.statistics)
	return 2*n*n + perPercentile*percentiles + together
}

// answers reports whether anything is released for the set.
func (g *GroupingSet) answers() bool { return len(g.Reads) > 0 || g.totals != nil }

// Event is the release of the grouping set.
func (g *GroupingSet) Event() dp.ComposedEvent {
	var e dp.ComposedEvent
	if g.Selection != nil {
		e = append(e, g.Selection.Event())
	}
	if g.Reduction != nil {
		return append(append(e, g.Choosing()...), g.Reduction.worst()...)
	}
	return append(e, g.Releases()...)
}

// Releases is everything that is released at once, except the selection of partitions: limits, units above them, and integers.
func (g *GroupingSet) Releases() dp.ComposedEvent {
	e := append(g.Choosing(), g.Top.Event()...)
	for _, m := range g.Measures {
		e = append(e, m.releases(&g.aggregation)...)
	}
	for _, s := range g.statistics {
		for _, mech := range s.levels {
			e = append(e, mech.Event())
		}
		e = append(e, eventsOf(s.chosenBy)...)
	}
	return e
}

// Choosing is the release of the limits of all measures, and of the units above them.
func (g *GroupingSet) Choosing() dp.ComposedEvent {
	var e dp.ComposedEvent
	for _, m := range g.Measures {
		e = append(e, m.choosing()...)
	}
	return e
}

// weigh gives each statistic of a grouping set the largest number of shares of an aggregate that needs it.
func (g *GroupingSet) weigh() {
	for i := range g.outputs {
		o := &g.outputs[i]
		for _, at := range o.statistics() {
			s := g.statistics[at]
			s.shares = max(s.shares, o.shares)
		}
	}
	for _, s := range g.statistics {
		s.shares = cmp.Or(s.shares, oneShare)
	}
	g.addShares()
}

// addShares gives each measure the shares of its statistics.
func (g *GroupingSet) addShares() {
	for _, m := range g.Measures {
		m.shares = 0
		for _, i := range m.statistics {
			m.shares += g.statistics[i].shares
		}
	}
}

// A Selection decides which partitions with private keys are shown, by the total weight of the units of each partition.
type Selection interface {
	Event() dp.Event
	Select(src mechanisms.Source, weight mechanisms.Private) (noisy mechanisms.Released, kept bool)
	String() string
}

// markUnsettled notes the outputs whose values are computed with a released result that is not known.
func (g *GroupingSet) markUnsettled(env *scalar.Env) {
	for i := range g.outputs {
		o := &g.outputs[i]
		o.unsettled = slices.ContainsFunc(o.clamped(), func(t term) bool { return env.Unsettled(t.arg) })
	}
}

// errorBar is the error of an output of the grouping set, which fails with probability alpha; alpha is 0 if it is not known yet. Without
// rows it is that of the rows which are foreseen.
func (g *GroupingSet) errorBar(o *output, rows, foreseen []integers, alpha float64) ErrorBar {
	bar := o.bar()
	if alpha == 0 || !g.answers() {
		return bar
	}
	_, linear := o.linear()
	if (linear || bar.Said != "") && g.Reduction == nil && len(rows) == 0 && !g.chosen(o) {
		bar.Least, bar.Most = g.radii(o, foreseen, alpha)
		return bar
	}
	var shown []observation
	bar.Moves = !linear
	bar.Unanswered = len(rows) > 0 && g.unanswered(o, rows[0].clips)
	for _, row := range rows {
		if g.hides(o, row, len(rows)) {
			continue
		}
		seen := g.observed(row).at(alpha)
		half := o.radius(seen)
		if len(shown) == 0 {
			bar.Least = half
		}
		shown = append(shown, seen)
		bar.Least, bar.Most = min(bar.Least, half), max(bar.Most, half)
		parts := Parts{Noise: half, Low: half, High: half}
		if l, ok := o.estimator.(limited); ok {
			parts.Below, parts.Above = l.beyond(seen)
			bar.Beyond = max(bar.Beyond, parts.Below, parts.Above)
			parts.Low, parts.High = half+parts.Below, half+parts.Above
		}
		if value, low, high, ok := o.interval(seen); ok {
			parts.Low, parts.High = value-low, high-value
		}
		bar.Widest = bar.Widest.wider(parts)
	}
	bar.Rows = len(rows)
	if v, ok := o.estimator.(chosenValue); ok && len(shown) > 0 {
		bar.Said = v.saidAfter(shown)
	}
	bar.Hidden = len(shown) == 0 && len(rows) > 0
	bar.Withheld = bar.Hidden && !slices.ContainsFunc(rows, func(row integers) bool { return !row.withheld })
	return bar
}

// radii are the smallest and the largest error of an output in some rows.
func (g *GroupingSet) radii(o *output, rows []integers, alpha float64) (least, most float64) {
	for i, row := range rows {
		half := o.radius(g.observed(row).at(alpha))
		if i == 0 {
			least = half
		}
		least, most = min(least, half), max(most, half)
	}
	return least, most
}

// chosen reports whether the limit of a statistic that an output needs is chosen.
func (g *GroupingSet) chosen(o *output) bool {
	return slices.ContainsFunc(o.statistics(), func(i int) bool { m := g.statistics[i].measure; return m != nil && m.chosen() })
}

// leastClips returns clips with the smallest possible limits.
func (g *GroupingSet) leastClips() []Clip { return g.clipsAt(0) }

// clipsAt returns clips with the smallest possible limits, where those that are chosen are at a level, or the highest below it.
func (g *GroupingSet) clipsAt(level int) []Clip {
	clips := make([]Clip, len(g.Measures))
	for i, m := range g.Measures {
		clips[i].Levels = m.leastLevels()
		for n, norm := range m.Norms {
			if norm.Choice != nil {
				clips[i].Levels[n] = max(clips[i].Levels[n], min(norm.Choices-1, level))
			}
		}
	}
	return clips
}

// leastVariance replaces smaller variances in weights: the variance of discrete Laplace noise at a large ε underflows a float64.
const leastVariance = 1e-30

// variance is the variance of the noise of a statistic at the limits of clips.
func (g *GroupingSet) variance(statistic int, clips []Clip) float64 {
	sigma := g.statistics[statistic].noiseAt(0, clips).StdDev()
	return max(sigma*sigma, leastVariance)
}

// selecting gives a grouping set with private keys its partition selection.
func (g *GroupingSet) selecting(s share) error {
	if !g.Private() {
		return nil
	}
	var err error
	if g.alone() {
		g.Selection, err = mechanisms.GaussianSelectionFor(s.rhoPico, s.deltaAtto)
	} else {
		g.Selection, err = mechanisms.WeightedSelectionFor(g.bounds.groups, s.rhoPico, s.deltaAtto)
	}
	if err != nil {
		return imprecise()
	}
	return nil
}

// shownFrom says how many units a private group needs: with so many it is shown about half of the time.
func (g *GroupingSet) shownFrom() string {
	switch s := g.Selection.(type) {
	case mechanisms.GaussianSelection:
		return "it takes about " + Number(float64(s.Threshold()))
	case mechanisms.WeightedSelection:
		return "it takes about " + Number(math.Ceil(s.Threshold())) + ", and more of those in several groups"
	}
	return "it takes some"
}

// ShownFrom says how many units a private group needs; none says that there are private groups, and that none of them is shown.
func ShownFrom(p *Plan, released [][]*Released) (fewest string, none bool) {
	for i, b := range p.Blocks {
		for at, g := range b.Sets {
			if !g.Private() || released[i] == nil || released[i][at] == nil || len(released[i][at].Keys) > 0 {
				return "", false
			}
			fewest = g.shownFrom()
		}
	}
	return fewest, len(p.Blocks) > 0
}

// leavesOut reports whether withheld groups of a set are left out; otherwise their values are NULL.
func (g *GroupingSet) leavesOut() bool { return g.Private() || g.judge != nil && g.judge.hides }
