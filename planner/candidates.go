package planner

import (
	"cmp"
	"math"
	"slices"

	"dpproxy/brdp"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/pgerr"
)

// leastSaving is the part of a price that recycling must save to be chosen, since it makes the time of a draw random. A staircase must save
// it too, since its rare values are farther out.
const leastSaving = 0.01

// budgeted is a plan with a target, and the most that it may cost to reach it.
type budgeted struct {
	*Plan

	measure dp.Measure
	// capPico bounds the whole price, and sharePico the price of one selection, in 10⁻¹² of ρ or ε.
	capPico, sharePico int64
	selections         int64
}

// reachTarget chooses how to reach the target: the cheapest noise if the error is known before the answer, and noise reduction otherwise.
// In the first case rounds gain nothing, since the price of the last round is known.
func (p *Plan) reachTarget(lap share, selections, shares int64) error {
	for _, set := range p.sets() {
		for i := range set.outputs {
			if o := &set.outputs[i]; !set.refinable(o) {
				return pgerr.New(pgerr.FeatureNotSupported, "an error cannot be asked for with %s", o.label).At(o.at).
					WithHint("SET dp.error = off, dp.relative_error = off: it is answered with what dp.epsilon allows.")
			}
		}
	}
	b := &budgeted{Plan: p, measure: dp.ZCDP, capPico: halfSquare(p.settings.EpsilonPico), selections: selections}
	if p.settings.Pure {
		b.measure, b.capPico = dp.PureDP, p.settings.EpsilonPico
	}
	b.capPico = min(b.capPico, dp.MaxPico) // no budget is larger
	if p.CappedByRemaining() {
		b.capPico = min(b.capPico, p.settings.LeftPico)
	}
	b.sharePico = proportion(b.capPico, oneShare, shares)
	lap.rhoPico = min(lap.rhoPico, b.sharePico)
	for _, set := range p.sets() {
		if err := set.selecting(lap); err != nil {
			return err
		}
	}
	if b.known() {
		return b.chooseNoise()
	}
	return b.chooseReduction()
}

// known reports whether every error is known before the answer: the target is absolute, and each value is linear in one statistic, so that
// its error is that of the noise.
func (b *budgeted) known() bool {
	s := b.settings
	if s.Target.Relative > 0 || s.Mechanism == brownian || s.Mechanism == laplaceReduction {
		return false
	}
	for _, set := range b.sets() {
		if slices.ContainsFunc(set.Measures, func(m *Measure) bool { return m.bound(&set.aggregation, s.Pure) != nil || m.chosen() }) {
			return false
		}
		for i := range set.outputs {
			if _, linear := set.outputs[i].linear(); !linear {
				return false
			}
		}
	}
	return true
}

// chooseReduction prepares noise reduction for each grouping set, with equal parts of the price.
func (b *budgeted) chooseReduction() error {
	kind := b.settings.Mechanism
	if err := b.checkReduced(kind); err != nil {
		return err
	}
	if kind == auto {
		kind = brownian
		if b.settings.Pure || !b.settings.allows(brownian) {
			kind = laplaceReduction
		}
	}
	switch {
	case kind == brownian && b.settings.Pure:
		return pgerr.New(pgerr.Imprecise, "the mechanism brownian has no finite cost in a pure budget").
			WithHint("SET dp.mechanism = laplace_reduction, or auto.")
	case !b.settings.allows(kind):
		return pgerr.New(pgerr.Imprecise, "the policy allows no mechanism that reaches such an error").
			WithHint("Ask with SET dp.error = off, dp.relative_error = off.")
	}
	pool := b.capPico
	if kind == laplaceReduction { // its path is priced in ε, whatever the measure of the budgets
		pool = b.settings.EpsilonPico
	}
	sets := b.sets()
	pool = (pool - proportion(pool, b.selections*oneShare, max(b.shares(), 1))) / int64(len(sets))
	for _, set := range sets {
		if len(set.statistics) == 0 {
			continue
		}
		if pool < int64(len(set.statistics)) {
			return pgerr.New(pgerr.Imprecise, "what the statement may spend is too small for a first look at %d numbers",
				len(set.statistics)).
				WithHint("Raise dp.max_epsilon.")
		}
		var err error
		if set.Reduction, err = set.reduced(kind, pool, b.settings); err != nil {
			return err
		}
	}
	b.Mechanism = kind
	b.reductionCandidates(kind, pool*int64(len(sets)))
	return nil
}

// checkReduced refuses a mechanism of one round for a value whose error only several rounds can determine.
func (b *budgeted) checkReduced(kind string) error {
	if kind == auto || kind == brownian || kind == laplaceReduction {
		return nil
	}
	for _, set := range b.sets() {
		for i := range set.outputs {
			o := &set.outputs[i]
			if _, linear := o.linear(); !linear {
				return pgerr.New(pgerr.InvalidParameterValue, "the mechanism %s cannot reach an error of %s: that needs several looks",
					kind, o.label).At(o.at).
					WithHint("SET dp.mechanism = auto, or dp.error = off.")
			}
		}
	}
	return noSeveralRounds(kind)
}

// reductionCandidates lists both kinds of noise reduction.
func (b *budgeted) reductionCandidates(kind string, pool int64) {
	for _, name := range []string{brownian, laplaceReduction} {
		c := Candidate{Mechanism: name, Chosen: name == kind}
		switch {
		case c.Chosen:
			c.Note = "pays for its last look alone"
			if name == laplaceReduction && !b.settings.Pure {
				c.Note = "pays for the whole path at its first look, since a budget of zCDP does not see where it stops"
			}
			c.Loss = must(dp.NewLoss(b.Reduces(), pool, 0))
		case !b.settings.allows(name):
			c.Note = "not allowed by the policy"
		case name == brownian && b.settings.Pure:
			c.Note = "has no finite cost in a pure budget"
		case name == laplaceReduction && !b.settings.Pure:
			c.Note = "would cost all it may, since a budget of zCDP does not see where it stops"
		}
		b.Candidates = append(b.Candidates, c)
	}
}

// chooseNoise chooses the cheapest noise whose error is within the target.
func (b *budgeted) chooseNoise() error {
	for _, kind := range []string{gaussian, laplace, brdpGaussian, brdpLaplace, staircase} {
		b.Candidates = append(b.Candidates, b.candidate(kind))
	}
	best, err := b.cheapest()
	if err != nil {
		return err
	}
	best.Chosen = true
	if best.Loss.Pico() > b.capPico {
		return b.tooDear(best)
	}
	b.Mechanism = best.Mechanism
	for i, set := range b.sets() {
		for k, m := range set.statistics {
			m.levels = []mechanisms.Mechanism{best.designs[i][k]}
		}
		for _, m := range set.Measures {
			if err := m.bound(&set.aggregation, isLaplace(best.Mechanism)); err != nil {
				return imprecise()
			}
			if err := m.statedBeside(best.prices[i], b.measure); err != nil {
				return imprecise()
			}
		}
	}
	return nil
}

// cheapest returns the candidate to choose; at equal prices the first, which is the simplest. If the analyst asks for recycling and it
// gains nothing, the kernel is chosen. A staircase has to save something: if a unit changes a number by one, it is Laplace noise.
func (b *budgeted) cheapest() (*Candidate, error) {
	var best *Candidate
	for i := range b.Candidates {
		c := &b.Candidates[i]
		asked := b.settings.Mechanism == auto || b.settings.Mechanism == c.Mechanism || kernel(b.settings.Mechanism) == c.Mechanism
		if c.designs == nil || !asked {
			continue
		}
		part := 1.0
		if c.Mechanism == staircase {
			part -= leastSaving
		}
		if best == nil || float64(c.Loss.Pico()) < part*float64(best.Loss.Pico()) {
			best = c
		}
	}
	if best == nil {
		return nil, pgerr.New(pgerr.Imprecise, "no mechanism that is allowed reaches this error").
			WithHint("SET dp.mechanism = auto, or ask for a larger error.")
	}
	return best, nil
}

// tooDear refuses an error that costs more than the statement may spend.
func (b *budgeted) tooDear(c *Candidate) error {
	need := float64(c.Loss.Pico()) / dp.PicoPerUnit
	if b.measure == dp.ZCDP {
		need = math.Sqrt(2 * need)
	}
	return pgerr.New(pgerr.Imprecise, "an error of %s costs %s, more than the statement may spend",
		Number(b.settings.Target.Error), c.Loss).
		WithDetail("The statement may spend %s, by dp.max_epsilon or the policy.", must(dp.NewLoss(b.measure, b.capPico, 0))).
		WithHint("Ask for a larger error, or SET dp.max_epsilon = %s.", Number(math.Ceil(need*1000)/1000))
}

// candidate finds the designs of a kind for every statistic.
func (b *budgeted) candidate(kind string) Candidate {
	without := func(note string) Candidate { return Candidate{Mechanism: kind, Note: note} }
	switch {
	case b.settings.Pure && (kind == gaussian || kind == brdpGaussian):
		return without("has no finite cost in a pure budget")
	case !b.settings.allows(kind):
		return without("not allowed by the policy")
	case ofOneNumber(kind) && slices.ContainsFunc(b.sets(), (*GroupingSet).spreads):
		return without("its price is that of one number, and a unit counts by a norm over the groups")
	}
	c := Candidate{Mechanism: kind}
	total, saved := b.sharePico*b.selections, false
	for _, set := range b.sets() {
		var designs []mechanisms.Mechanism
		var prices []int64
		for i := range set.statistics {
			d, recycled, ok := b.design(kind, set, i)
			price, beside := d.Loss.Pico(), int64(0)
			if m := set.statistics[i].measure; ok && m != nil && m.cuts() {
				beside = tailBeside(price)
			}
			if total += price + beside; !ok || total > dp.MaxPico {
				return without("cannot be so narrow at any price")
			}
			if Recycles(kind) && !recycled && !b.settings.allows(kernel(kind)) {
				return without("recycling gains nothing for a number of the statement, and the policy does not allow " +
					kernel(kind) + " alone")
			}
			saved = saved || recycled
			designs, prices = append(designs, d.Mechanism), append(prices, price)
		}
		c.designs, c.prices = append(c.designs, designs), append(c.prices, prices)
		for _, bar := range set.errorsOf(designs) {
			c.Errors = append(c.Errors, bar.String())
		}
	}
	c.Loss = must(dp.NewLoss(b.measure, total, 0))
	if Recycles(kind) && !saved {
		return without("no gain: recycling saves nothing where the error is not narrow beside what one unit changes")
	}
	return c
}

// designer caches the noise that reaches an error: a design is a function of its goal alone.
var designer brdp.Designer

// design returns the cheapest noise of a kind for a statistic, and whether it recycles.
func (b *budgeted) design(kind string, set *GroupingSet, statistic int) (d brdp.Design, recycles, ok bool) {
	goal := brdp.Goal{
		Sensitivity: set.statistics[statistic].sensitivity, Boundary: set.boundary(statistic, b.settings.Target.Error),
		Acceptance: 1 - b.settings.Alpha, Measure: b.measure,
	}
	if s := set.statistics[statistic]; s.measure != nil {
		var err error
		if goal.Sensitivity, goal.Boundary, err = s.measure.fixedGoal(&set.aggregation, s, goal.Boundary, isLaplace(kind)); err != nil {
			return brdp.Design{}, false, false
		}
	}
	if j := set.judge; j != nil && j.statistic == statistic {
		goal.Boundary = min(goal.Boundary, b.judgeBoundary(goal.Sensitivity, kind))
	}
	if kind == staircase {
		d, err := staircaseFor(goal, b.settings.Alpha)
		return d, false, err == nil
	}
	options, err := designer.Options(goal, Recycles(kind))
	if err != nil {
		return brdp.Design{}, false, false
	}
	var plain, recycled *brdp.Design
	for i, o := range options {
		switch {
		case o.Gaussian != (kind == gaussian || kind == brdpGaussian):
		case o.Recycled:
			recycled = &options[i].Design
		default:
			plain = &options[i].Design
		}
	}
	switch {
	case plain == nil && recycled == nil:
		return brdp.Design{}, false, false
	case recycled == nil:
		return *plain, false, true
	case plain == nil || float64(recycled.Loss.Pico()) <= (1-leastSaving)*float64(plain.Loss.Pico()):
		return *recycled, true, true
	}
	return *plain, false, true
}

// judgeBoundary returns, on the lattice, how far a count may be off by which groups are judged, if all errors are known before the answer:
// as far as one of the shares of a statement of the policy's typical price would be.
func (b *budgeted) judgeBoundary(sens dp.Sensitivity, kind string) int64 {
	const largest = 1 << 52
	typical, s := cmp.Or(b.settings.TypicalPico, b.settings.EpsilonPico), share{kind: gaussian}
	if isLaplace(kind) {
		s.kind = laplace
	} else {
		typical = halfSquare(typical)
	}
	noise, err := s.withPico(proportion(typical, oneShare, max(b.shares(), 1))).mechanism(sens)
	if err != nil {
		return largest
	}
	return int64(min(noise.Quantile(b.settings.Alpha), largest))
}
