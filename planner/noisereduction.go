package planner

import (
	"math"
	"math/big"
	"slices"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner/pgtype"
)

// A NoiseReduction releases the integers of a grouping set with as much precision as the answer turns out to need: rounds of measurements
// get more precise until the releases show that the target is met, or the pool is empty. It is the goal of a [mechanisms.Refinement], which
// proves the guarantee and draws the rounds. The goal sees estimates and releases, and, like all of this package, no exact value.
type NoiseReduction struct {
	// Mechanism is "brownian", independent measurements whose mean is the answer, with its own precision for each partition; or
	// "laplace_reduction", one path of noise for all partitions, with a finite price in a pure budget.
	Mechanism string
	// PoolPico bounds the price of all rounds together, and PilotPico the price of the first round, in 10⁻¹² of ρ, or of ε for
	// laplace_reduction.
	PoolPico, PilotPico int64
	// Statistics are the statistics of the grouping set, in order.
	Statistics []ReducedStatistic

	settings Settings
	results  *results
	clips    []Clip // the limits of units; nil before the limits are chosen
}

var _ mechanisms.Goal = (*NoiseReduction)(nil)

// A ReducedStatistic is an integer of each partition.
type ReducedStatistic struct {
	Sensitivity dp.Sensitivity
	// Path is the path of noise of laplace_reduction.
	Path mechanisms.LaplaceReduction
	// picos are the prices of the levels of the path if the limit is chosen; nil if the limit is known.
	picos []int64

	bits   uint              // of the lattice on which it is measured
	within mechanisms.Scales // for brownian
	// stop decides when an integer that is shown by itself has reached a relative error. It is nil if no relative error is asked for, or
	// one so large that within decides as soon.
	stop *mechanisms.RelativeStop
	beta float64 // the error probability of the statistic, at all rounds together
	// enough is the standard deviation at which groups are judged by the statistic; 0 if they are not.
	enough float64
}

const (
	// expected is the part of a typical price at which the boundary is narrowest.
	expected = 1.0 / 4
	// pilots is the number of first rounds that the pool could pay. A pilot must be cheap for an answer that needs little precision.
	pilots = 100_000
	// levelRatio is the ratio of the prices of consecutive levels of a reduction.
	levelRatio = 1.41
	// The first level of a reduction costs 1/reach of the pool.
	reach = 1000
	// stopShare is the part of the error probability of an integer that is shown by itself for its relative error; the rest is for its
	// interval.
	stopShare = 0.8
	// leastGain is the factor by which a round reduces an error at least.
	leastGain = 1.09
	// boundlessGain multiplies the standard deviations of a value that nothing bounds yet.
	boundlessGain = 0.5
)

// Within returns the noise reduction at chosen limits, or, if clips is nil, at the smallest. The boundary depends on the limits, the policy
// and the grouping set alone, so a statement with another target can continue from the measurements of this one.
func (c *NoiseReduction) Within(clips []Clip) (*NoiseReduction, error) {
	out := *c
	out.Statistics, out.clips = nil, clips
	n := int64(len(c.results.statistics))
	typical := float64(halfSquare(max(c.settings.TypicalPico, 1))) / dp.PicoPerUnit / float64(n)
	for i, m := range c.results.statistics {
		cm := ReducedStatistic{beta: c.settings.Alpha / float64(c.results.together(i))}
		var err error
		if cm.Sensitivity, cm.bits, err = m.sensitivityOf(clips); err != nil {
			return nil, imprecise()
		}
		if c.Mechanism == brownian {
			l2 := cm.natural(math.Sqrt(float64(cm.Sensitivity.L0)) * float64(cm.Sensitivity.LInf))
			err = cm.stopAt(c.results.shows(i), c.settings.Target.Relative, l2/math.Sqrt(2*expected*math.Max(typical, 1e-12)))
			if _, tooWide := mechanisms.GaussianFor(cm.Sensitivity, c.PilotPico/n); tooWide != nil {
				return nil, imprecise() // there is no first round: it would fail after the charge
			}
		} else {
			err = cm.reduce(m, c.PoolPico/n)
		}
		if err != nil {
			return nil, imprecise()
		}
		if j := c.results.judge; j != nil && j.statistic == i {
			cm.judgePrecision(c.Mechanism, c.settings.TypicalPico, n)
		}
		out.Statistics = append(out.Statistics, cm)
	}
	return &out, nil
}

// natural converts a length on the lattice of the statistic to the unit of the integers that are shown.
func (m ReducedStatistic) natural(lattice float64) float64 { return math.Ldexp(lattice, -int(m.bits)) }

// stopAt chooses the boundary, which is narrowest at sigma, and, for an integer that is shown by itself, the rule for a relative error.
func (m *ReducedStatistic) stopAt(shown bool, relative, sigma float64) (err error) {
	beta := m.beta
	if shown {
		beta *= 1 - stopShare // whatever the target: all targets share one boundary
	}
	if m.within, err = mechanisms.NewScales(beta, sigma); err != nil || !shown || relative == 0 || relative > mechanisms.MostRelativeStop {
		return err
	}
	stop, err := mechanisms.NewRelativeStop(m.beta*stopShare, relative)
	m.stop = &stop
	return err
}

// reduce gives the statistic the path of a price. The price of each level is rounded up to a multiple of 10⁻¹².
func (m *ReducedStatistic) reduce(of *statistic, poolPico int64) error {
	const most = 64
	picos, err := mechanisms.GeometricLevels(max(poolPico/reach, 1), poolPico-most, levelRatio)
	if err != nil {
		return err
	}
	if of.measure != nil && of.measure.chosen() {
		m.picos = picos
	}
	m.Path, err = mechanisms.LaplaceReductionFor(m.Sensitivity, picos)
	return err
}

// level returns the event that reveals a level of the path, counted from 0.
func (m *ReducedStatistic) level(k int) dp.Event {
	if m.picos != nil {
		return mechanisms.ReductionOf(m.picos, k)
	}
	return m.Path.Event(k)
}

// pilots returns the number of first rounds that the pool could pay.
func (c *NoiseReduction) pilots() int64 {
	if c.Mechanism == brownian {
		return pilots
	}
	return reach
}

// Independent reports whether the rounds are independent measurements, from which a later read can continue. A path of noise cannot be
// continued.
func (c *NoiseReduction) Independent() bool { return c.Mechanism == brownian }

// worst is the most that the noise reduction releases.
func (c *NoiseReduction) worst() dp.ComposedEvent {
	if c.Mechanism == brownian {
		return dp.ComposedEvent{mechanisms.RefinementOf(c.PoolPico)}
	}
	var e dp.ComposedEvent
	for _, m := range c.Statistics {
		for level := range m.Path.Levels() {
			e = append(e, m.level(level))
		}
	}
	return e
}

// Revealing returns the releases of a range of levels of a reduction, counted from 0.
func (c *NoiseReduction) Revealing(from, to int) dp.ComposedEvent {
	var e dp.ComposedEvent
	for level := from; level <= to; level++ {
		for _, m := range c.Statistics {
			e = append(e, m.level(level))
		}
	}
	return e
}

// Estimated returns the relation of the partitions after a round of brownian, from the estimates of each statistic.
func (c *NoiseReduction) Estimated(keys [][]*string, estimates [][]mechanisms.Estimate) *Released {
	r := &Released{Keys: keys, Margins: [][]Margin{}, Clips: c.clips}
	if len(estimates) == 0 { // no partition is shown
		return r
	}
	for row := range estimates[0] {
		ints, margins := make([]*big.Int, len(c.Statistics)), make([]Margin, len(c.Statistics))
		for i, m := range c.Statistics {
			e := estimates[i][row]
			value := new(big.Rat).Quo(e.Value, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), m.bits)))
			ints[i] = pgtype.Floor(value.Add(value, big.NewRat(1, 2)))
			margins[i] = m.margin(ints[i], m.natural(e.Sigma))
		}
		r.Rows, r.Margins = append(r.Rows, ints), append(r.Margins, margins)
	}
	return r
}

// margin returns the margin of an integer that was rounded from an estimate.
func (m ReducedStatistic) margin(n *big.Int, sigma float64) Margin {
	out := Margin{Half: m.within.HalfWidth(sigma) + 0.5, Sigma: sigma}
	y, _ := new(big.Float).SetInt(n).Float64()
	if m.stop != nil && m.stop.Met(y, sigma) {
		out.Close, out.Half = true, math.Min(out.Half, m.stop.HalfWidth(y))
	}
	return out
}

// Revealed returns the relation of the partitions at a level of a reduction, counted from 0.
func (c *NoiseReduction) Revealed(keys [][]*string, rows [][]*big.Int, level int) *Released {
	margins := make([]Margin, len(c.Statistics))
	for i, m := range c.Statistics {
		noise := contribution.Noise{Of: must(m.Path.Level(level)), Bits: m.bits}
		margins[i] = Margin{Half: noise.Quantile(m.beta / float64(m.Path.Levels())), Sigma: noise.StdDev(), noise: noise}
	}
	r := &Released{Keys: keys, Margins: [][]Margin{}, Clips: c.clips}
	for _, row := range rows {
		shown := make([]*big.Int, len(row))
		for i, m := range c.Statistics {
			shown[i] = contribution.Noise{Bits: m.bits}.Shown(row[i])
		}
		r.Rows, r.Margins = append(r.Rows, shown), append(r.Margins, margins)
	}
	return r
}

// A Want is a partition that needs more precision: the standard deviation of each statistic has to be multiplied by at most its factor,
// which is 1 if the statistic is precise enough.
type Want struct {
	Partition int
	Factors   []float64
}

// least is the smallest factor.
func (w Want) least() float64 { return slices.Min(w.Factors) }

// Open returns the partitions that need further measurements, or none if the target is met. If only a fraction of the partitions has to
// meet it, these are the partitions that are nearest to it.
//
// No factor asks for more precision than the target requires if the true value is at the far end of its interval. So nothing is measured
// more precisely than necessary, except with the probability that an interval is wrong.
func (c *NoiseReduction) Open(r *Released) []Want {
	var open []Want
	for i, row := range r.integers() {
		if w := c.want(row); w.least() < 1 {
			w.Partition = i
			open = append(open, w)
		}
	}
	missing := len(open)
	if f := c.settings.Target.Fraction; f > 0 && f < 1 {
		missing = int(math.Ceil(f*float64(len(r.Rows)))) - (len(r.Rows) - len(open))
	}
	if missing <= 0 {
		return nil
	}
	slices.SortStableFunc(open, func(a, b Want) int {
		switch x, y := a.least(), b.least(); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	open = open[:missing]
	slices.SortFunc(open, func(a, b Want) int { return a.Partition - b.Partition })
	return open
}

// want compares the errors of a row with the target.
func (c *NoiseReduction) want(row integers) Want {
	w := Want{Factors: slices.Repeat([]float64{1}, len(c.Statistics))}
	if c.judge(row, w) {
		return w
	}
	for i := range c.results.outputs {
		o := &c.results.outputs[i]
		if o.report != "" {
			continue
		}
		r := c.results.observed(row)
		if o.empty(r) || c.results.unanswered(o, row.clips) {
			continue
		}
		half, size := o.radius(r), math.Abs(o.number(r))
		if math.IsNaN(size) { // NULL
			size = 0
		}
		if c.met(half, size) || c.close(o, row) {
			continue
		}
		factor := boundlessGain
		if !math.IsInf(half, 1) {
			factor = math.Min(c.factor(o, row, half, size+half), 1/leastGain)
		}
		for _, m := range o.statistics() {
			w.Factors[m] = math.Min(w.Factors[m], factor)
		}
	}
	return w
}

// close reports whether a linear output has reached its relative error.
func (c *NoiseReduction) close(o *output, row integers) bool {
	_, linear := o.linear()
	return linear && row.margins[c.results.statistics[o.statistics()[0]].first].Close
}

// factor is the factor by which the standard deviations of an output must shrink if its value has this size.
func (c *NoiseReduction) factor(o *output, row integers, half, size float64) float64 {
	factor := math.Max(c.settings.Target.Error, c.settings.Target.Relative*size/(1+c.settings.Target.Relative)) / half
	at := o.statistics()[0]
	if unit, linear := o.linear(); linear && c.Statistics[at].stop != nil {
		factor = math.Max(factor, c.Statistics[at].stop.Need(size/unit)/row.margins[c.results.statistics[at].first].Sigma)
	}
	return factor
}

// met reports whether an error of a value of this size meets the target.
func (c *NoiseReduction) met(half, size float64) bool {
	t := c.settings.Target
	return half <= t.Error || t.Relative > 0 && mechanisms.MeetsRelative(half, t.Relative, size)
}

// Begin returns the refinement of the grouping set. It continues from the measurements of an earlier read, by partition and statistic; nil
// is none. They must have the same [BlockPlan.ReductionQuestion], which contains the boundary that was chosen before the first of them.
func (c *NoiseReduction) Begin(known [][][]mechanisms.Measurement) (*mechanisms.Refinement, error) {
	chains := make([]dp.Sensitivity, len(c.Statistics))
	for m, s := range c.Statistics {
		chains[m] = s.Sensitivity
	}
	pool := mechanisms.Pool{Pico: c.PoolPico, PilotPico: c.PilotPico / int64(len(chains))}
	return mechanisms.NewRefinement(c, chains, pool, known)
}

// Targets implements mechanisms.Goal: each open partition goes directly to the precision that it needs.
func (c *NoiseReduction) Targets(estimates [][]mechanisms.Estimate) [][]mechanisms.Target {
	open := c.Open(c.Estimated(nil, estimates))
	if len(open) == 0 {
		return nil
	}
	out := make([][]mechanisms.Target, len(c.Statistics))
	for m := range out {
		for _, w := range open {
			if f := w.Factors[m]; f < 1 {
				sigma := estimates[m][w.Partition].Sigma * f // on the lattice
				out[m] = append(out[m], mechanisms.Target{Coordinate: w.Partition, Variance: sigma * sigma})
			}
		}
	}
	return out
}

// NextLevel returns the next level of a reduction after a level that is not the last: the most precise level that every open partition
// needs.
func (c *NoiseReduction) NextLevel(level int, open []Want) int {
	least := 1.0
	for i, w := range open {
		if f := w.least(); i == 0 || f > least {
			least = f
		}
	}
	r := c.Statistics[0].Path
	at := must(r.Level(level)).StdDev() * least
	next := level + 1
	for next+1 < r.Levels() && must(r.Level(next+1)).StdDev() >= at {
		next++
	}
	return next
}

// Levels returns the number of levels of a reduction.
func (c *NoiseReduction) Levels() int { return c.Statistics[0].Path.Levels() }

// Goal writes the target for people.
func (c *NoiseReduction) Goal() string { return c.settings.Target.String() }

// judgePrecision decides how precise the count has to be by which groups are judged: as a share of a statement of the policy's typical
// price would make it, one of n, whatever error is asked for.
func (m *ReducedStatistic) judgePrecision(mechanism string, typicalPico, n int64) {
	if typicalPico < n {
		return
	}
	change := m.natural(float64(m.Sensitivity.LInf))
	if mechanism == brownian {
		rho := float64(halfSquare(typicalPico)) / dp.PicoPerUnit / float64(n)
		m.enough = change * math.Sqrt(float64(m.Sensitivity.L0)/2/rho)
		return
	}
	epsilon := float64(typicalPico) / dp.PicoPerUnit / float64(n)
	m.enough = change * float64(m.Sensitivity.L0) * math.Sqrt2 / epsilon
}

// judge says what a row needs before it can be judged. A row that is withheld needs nothing more; done says that nothing else is measured.
func (c *NoiseReduction) judge(row integers, w Want) (done bool) {
	j := c.results.judge
	if j == nil {
		return false
	}
	enough, sigma := c.Statistics[j.statistic].enough, row.margins[c.results.statistics[j.statistic].first].Sigma
	if enough > 0 && sigma > enough*leastGain {
		w.Factors[j.statistic] = enough / sigma
		return true
	}
	return c.results.withholds(row)
}
