package mechanisms

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"dpproxy/dp"
)

// A Goal says how precise the estimates of a refinement have to be. It is given
// releases, and nothing else: one that saw an exact value would void every guarantee.
type Goal interface {
	// Targets returns, for each chain, the variances that the next round should bring its estimates
	// to; none for any chain where the goal is met. The estimates are those of each chain's
	// coordinates.
	Targets(estimates [][]Estimate) [][]Target
}

// A Pool is the most that a refinement may cost, in 10⁻¹² of ρ: all of it, and the first round of
// each chain where nothing is remembered.
type Pool struct{ Pico, PilotPico int64 }

// A Refinement measures the statistics of one set of partitions again and again, until they meet
// a goal, or the pool is empty. Each statistic is a chain, [Brownian], with a coordinate for each
// partition; all chains draw on one pool, and the goal for one may follow from the
// estimates of all. The caller charges the first round before anything is read, and each further
// one before it is measured:
//
//	r, err := NewRefinement(goal, chains, pool, nil)
//	// charge r.First(), durably; then read
//	round, err := r.Begin(exact)
//	for {
//		err = round.Measure(src)
//		round, err = r.Next()
//		if len(round.Event()) == 0 {
//			break
//		}
//		// charge round.Event(), durably
//	}
//
// The guarantee: let chain m have sensitivity (L0ₘ, LInfₘ), and let ρₘ be the price of its
// measurements, as [Brownian] states it. Everything that the refinement releases, the number of
// its rounds included, is Σρₘ-zCDP, whatever the goal is and whatever decides to stop early. For
// a round is a vector of independent discrete Gaussian mechanisms; its coordinates and its
// variances are a function of earlier releases, since they follow from the estimates alone; and
// so is the price of each step, which is committed before the step is drawn. That is fully
// adaptive composition, under a filter [Whitehouse et al. 2023, Theorem 1]: a budget that admits
// each event before its round is measured bounds the whole transcript, and noise reduction needs
// neither another theorem nor a δ. As the steps of a chain telescope, stopping costs as much as the
// last precision, measured at once; the rounds before it were free.
//
// The sum of the events, First included, never exceeds the pool: a round costs at most the rest
// that First and the steps before have left of it. First is computed without exact values. It bounds the
// first round where nothing is remembered, and is that round itself where something is.
//
// The caller must ensure that
//
//   - each event is charged, durably, before its round is measured, and that no charge is taken
//     back once the draws were seen: a hold of the pool may be released, a charge may not;
//   - the goal, and all else that decides whether there is another round, follows from releases
//     and public data;
//   - the exact values are of one read, and those of different chains of the same one: the price
//     of a chain is that of its L0 largest coordinates within one read [Brownian];
//   - the remembered measurements are all of the earlier reads, tied to the same data as
//     [Brownian.Remember] says. They were paid for then, and cost and save nothing now.
//
// Where a refinement ends follows from its noise: its estimates are biased, and the quantile of
// one look does not bound their errors. A boundary for any time does: chosen before the first
// measurement of the first read, it holds at every round of every read at once, and so at the
// last, whatever the goal is. [Scales] is one, and [RelativeStop] another, of one claim. One that
// is chosen anew for each read is left too often; the caller must remember measurements within
// their own boundary alone.
//
// A refinement holds exact values, in its chains. It is not safe for concurrent use.
type Refinement struct {
	goal          Goal
	sensitivities []dp.Sensitivity
	pool          Pool

	chains []*Brownian // nil as long as the number of coordinates is not known
	// measured are all measurements, by coordinate and chain, of which known had been there.
	measured [][][]Measurement
	known    bool
	first    *Round // of a refinement that goes on from an earlier read
	begun    bool   // it has exact values
	rounds   int    // how many were measured
	excess   int64  // the part of the charge for First that the first round did not need
}

// NewRefinement returns the refinement of chains of these sensitivities. The measurements of an
// earlier read, by coordinate and chain, are nil if there are none: then the refinement begins
// with a pilot, which brings all coordinates of each chain to one precision. Else it goes on from
// them, with as many coordinates.
func NewRefinement(goal Goal, chains []dp.Sensitivity, pool Pool, known [][][]Measurement) (*Refinement, error) {
	n := int64(len(chains))
	switch {
	case goal == nil || n == 0 || pool.PilotPico < 1 || pool.Pico > dp.MaxPico || pool.PilotPico > pool.Pico/n:
		return nil, fmt.Errorf("%w: a refinement of %d chains with the pool %+v", ErrParameter, n, pool)
	case slices.ContainsFunc(chains, func(s dp.Sensitivity) bool { return !s.Valid() }):
		return nil, fmt.Errorf("%w: chains of sensitivities %+v", ErrParameter, chains)
	}
	r := &Refinement{goal: goal, sensitivities: chains, pool: pool, known: known != nil}
	if !r.known {
		return r, nil
	}
	if err := r.remember(known); err != nil {
		return nil, err
	}
	var err error
	if r.first, err = r.Next(); err != nil {
		return nil, err
	}
	return r, nil
}

// makeChains makes the chains, of n coordinates.
func (r *Refinement) makeChains(n int, newChain func(m int, s dp.Sensitivity) (*Brownian, error)) error {
	r.measured = make([][][]Measurement, n)
	for i := range r.measured {
		r.measured[i] = make([][]Measurement, len(r.sensitivities))
	}
	for m, s := range r.sensitivities {
		b, err := newChain(m, s)
		if err != nil {
			return err
		}
		r.chains = append(r.chains, b)
	}
	return nil
}

// remember takes the measurements of earlier reads.
func (r *Refinement) remember(known [][][]Measurement) error {
	err := r.makeChains(len(known), func(_ int, s dp.Sensitivity) (*Brownian, error) { return newBrownian(s, len(known), r.pool.Pico) })
	if err != nil {
		return err
	}
	for i, lists := range known {
		if len(lists) != len(r.chains) {
			return fmt.Errorf("%w: measurements of %d chains, of %d", ErrParameter, len(lists), len(r.chains))
		}
		for m, list := range lists {
			for _, measurement := range list {
				if err := r.chains[m].Remember(i, measurement); err != nil {
					return err
				}
			}
			r.measured[i][m] = slices.Clone(list)
		}
	}
	return nil
}

// First returns the most that the first round releases. No exact value is needed for it.
func (r *Refinement) First() dp.ComposedEvent {
	if r.known {
		return r.first.Event()
	}
	return dp.ComposedEvent{RefinementOf(r.pool.PilotPico * int64(len(r.sensitivities)))}
}

// RefinementOf returns the refinement of a price, in 10⁻¹² of ρ: of no sensitivity in particular.
func RefinementOf(pico int64) dp.Event {
	return dp.RefinementEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: 1}, Before: new(big.Rat), After: big.NewRat(2*pico, dp.PicoPerUnit)}
}

// Begin takes the exact values of one read, by chain, and returns the first round, for which
// First was charged. Where no partition is shown there are no values, and no round.
func (r *Refinement) Begin(exact [][]Private) (*Round, error) {
	switch n := len(exact); {
	case n != len(r.sensitivities) || slices.ContainsFunc(exact, func(values []Private) bool { return len(values) != len(exact[0]) }):
		return nil, fmt.Errorf("%w: exact values of %d chains, of %d, or not of the same coordinates",
			ErrParameter, n, len(r.sensitivities))
	case r.begun:
		return nil, fmt.Errorf("%w: the refinement was begun", ErrStep)
	case !r.known && len(exact[0]) == 0:
		return &Round{}, nil
	case !r.known:
		return r.pilot(exact)
	}
	for m, b := range r.chains {
		if err := b.hold(exact[m]); err != nil {
			return nil, err
		}
	}
	r.begun = true
	return r.first, nil
}

// pilot returns the first round of new chains.
func (r *Refinement) pilot(exact [][]Private) (*Round, error) {
	n := len(exact[0])
	r.begun = true
	err := r.makeChains(n, func(m int, s dp.Sensitivity) (*Brownian, error) { return NewBrownian(s, exact[m], r.pool.Pico) })
	if err != nil {
		return nil, err
	}
	all := make([]Target, n)
	for i := range all {
		all[i].Coordinate = i
	}
	round := r.newRound()
	for m, b := range r.chains {
		step, err := b.Raise(all, r.pool.PilotPico)
		if err != nil {
			return nil, err
		}
		round.steps[m] = step
		r.excess += r.pool.PilotPico - step.Price()
	}
	return round, nil
}

// Estimates returns the estimate of each coordinate, by chain.
func (r *Refinement) Estimates() [][]Estimate {
	estimates := make([][]Estimate, len(r.chains))
	for m, b := range r.chains {
		estimates[m] = b.Estimates()
	}
	return estimates
}

// Measurements returns all measurements so far, by coordinate and chain: the remembered ones,
// and then those of this read.
func (r *Refinement) Measurements() [][][]Measurement {
	all := make([][][]Measurement, len(r.measured))
	for i, lists := range r.measured {
		all[i] = make([][]Measurement, len(lists))
		for m, list := range lists {
			all[i][m] = slices.Clone(list)
		}
	}
	return all
}

// Next plans the next round. It goes straight to the goal's targets; where they cost more
// than is left of the pool, each chain has a part of the rest, in proportion. The round
// releases nothing, and has no event, where the goal is met, or nothing that it needs can be had.
func (r *Refinement) Next() (*Round, error) {
	if len(r.chains) == 0 {
		return &Round{}, nil
	}
	targets := r.goal.Targets(r.Estimates())
	if len(targets) == 0 {
		return &Round{}, nil
	}
	if len(targets) != len(r.chains) {
		return nil, fmt.Errorf("%w: targets for %d chains of %d", ErrParameter, len(targets), len(r.chains))
	}
	levels, room := make([]int64, len(r.chains)), r.pool.Pico-r.excess
	for m, b := range r.chains {
		levels[m] = r.pool.Pico
		room -= b.Paid()
	}
	round, err := r.plan(targets, levels)
	if err != nil || round.price() <= room {
		return round, err
	}
	for m, b := range r.chains {
		levels[m] = b.Paid() + round.share(m, room)
	}
	return r.plan(targets, levels)
}

// plan plans the steps to the targets, up to a price of each chain.
func (r *Refinement) plan(targets [][]Target, levels []int64) (*Round, error) {
	round := r.newRound()
	for m, b := range r.chains {
		if len(targets[m]) == 0 || levels[m] < 1 {
			continue
		}
		step, err := b.Raise(targets[m], levels[m])
		switch {
		case errors.Is(err, ErrCap): // nothing to gain
		case err != nil:
			return nil, err
		default:
			round.steps[m] = step
		}
	}
	return round, nil
}

func (r *Refinement) newRound() *Round {
	return &Round{refinement: r, after: r.rounds, steps: make([]*Step, len(r.chains))}
}

// A Round is one round of measurements of a refinement, which was planned, and may be charged and
// then measured, once. One that is not measured costs nothing.
type Round struct {
	refinement *Refinement
	after      int     // how many rounds had been measured when it was planned
	steps      []*Step // by chain; nil where it has none
}

// Event describes the round for a pricer. It is empty where the refinement has ended.
func (d *Round) Event() dp.ComposedEvent {
	var events dp.ComposedEvent
	for _, s := range d.steps {
		if s != nil {
			events = append(events, s.Event())
		}
	}
	return events
}

// price is the sum of the prices of the steps.
func (d *Round) price() (pico int64) {
	for _, s := range d.steps {
		if s != nil {
			pico += s.Price()
		}
	}
	return pico
}

// share is the part of the room that the step of a chain has, in proportion to its price.
func (d *Round) share(m int, room int64) int64 {
	if d.steps[m] == nil {
		return 0
	}
	part := new(big.Int).Mul(big.NewInt(max(room, 0)), big.NewInt(d.steps[m].Price()))
	return part.Quo(part, big.NewInt(d.price())).Int64()
}

// Measure draws the measurements of the round, and reveals them. The caller must have charged
// d.Event(), or First of the first round, durably, before. It wraps ErrStep, and draws nothing, the
// second time, before [Refinement.Begin], and where another round was measured since this one
// was planned: two rounds that each fit the rest of the pool may not fit it together.
func (d *Round) Measure(src Source) error {
	r := d.refinement
	switch {
	case r == nil: // nothing to measure
		return nil
	case !r.begun || d.after != r.rounds:
		return fmt.Errorf("%w: of a refinement after %d rounds, planned after %d", ErrStep, r.rounds, d.after)
	}
	r.rounds++
	for m, s := range d.steps {
		if s == nil {
			continue
		}
		measured, err := s.Measure(src)
		if err != nil {
			return err
		}
		for k, i := range s.Coordinates() {
			lists := r.measured[i]
			lists[m] = append(lists[m], measured[k])
		}
	}
	return nil
}
