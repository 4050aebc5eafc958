package release

import (
	"slices"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// A Run releases all that a plan reads, round by round. Its errors are defects.
type Run struct {
	plan  *planner.Plan
	price Pricer
	sets  []*set
	drawn []*set // that take the next round
}

// A Pricer returns the cost of a release in a measure.
type Pricer func(e dp.ComposedEvent, m dp.Measure) (dp.Loss, error)

// set is one grouping set on its way.
type set struct {
	block, index int
	plan         *planner.GroupingSet
	method       method
	paidPico     int64
}

// New returns the Run of a plan. Where before has the sets of a block, it goes on from
// them.
func New(plan *planner.Plan, before func(block int) []*Set, price Pricer, src mechanisms.Source) *Run {
	r := &Run{plan: plan, price: price}
	for i, b := range plan.Blocks {
		if !b.Reads() {
			continue
		}
		sets := before(i)
		for j, g := range b.Sets {
			s := &set{block: i, index: j, plan: g}
			var known *Set
			if sets != nil {
				known, s.paidPico = sets[j], sets[j].PaidPico
			}
			switch {
			case g.Reduction == nil:
				s.method = &once{set: g, src: src}
			case g.Reduction.Independent():
				s.method = newBrownian(g, known, src)
			default:
				s.method = newReduction(g, src)
			}
			r.sets = append(r.sets, s)
		}
	}
	r.share()
	return r
}

// share tells the sets that share the limits of another one which it is.
func (r *Run) share() {
	for _, s := range r.sets {
		if totals := s.plan.Totals(); totals != nil {
			finest := slices.IndexFunc(r.sets, func(o *set) bool { return o.plan == totals.Of })
			s.method.(*once).finest = r.sets[finest].method.(*once)
		}
	}
}

// First returns the most that the first round releases. Nothing has been read.
func (r *Run) First() (dp.ComposedEvent, error) {
	var events dp.ComposedEvent
	for _, s := range r.sets {
		if s.plan.Selection != nil {
			events = append(events, s.plan.Selection.Event())
		}
		first, err := s.method.first()
		if err != nil {
			return nil, err
		}
		s.pays(r.price, first)
		events = append(events, first...)
	}
	return events, nil
}

// Begin takes the exact values, by block and grouping set, and draws the first round. It was
// paid for. Limits that grouping sets share are drawn first.
func (r *Run) Begin(exacts [][]*reader.Exact) error {
	for _, totals := range []bool{false, true} {
		for _, s := range r.sets {
			if (s.plan.Totals() != nil) != totals {
				continue
			}
			if err := s.method.begin(exacts[s.block][s.index]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Next returns the release of another round, or nothing if no grouping set needs one.
func (r *Run) Next() (dp.ComposedEvent, error) {
	r.drawn = nil
	var events dp.ComposedEvent
	for _, s := range r.sets {
		e, err := s.method.next()
		if err != nil {
			return nil, err
		}
		if len(e) > 0 {
			s.pays(r.price, e)
			events, r.drawn = append(events, e...), append(r.drawn, s)
		}
	}
	return events, nil
}

// Draw draws the round that Next has returned. It was paid for.
func (r *Run) Draw() error {
	for _, s := range r.drawn {
		if err := s.method.draw(); err != nil {
			return err
		}
	}
	return nil
}

// Released returns the relations of the grouping sets of a block, nil if the plan does not read it.
func (r *Run) Released(block int) []*planner.Released {
	var out []*planner.Released
	for _, s := range r.sets {
		if s.block == block {
			out = append(out, s.method.released())
		}
	}
	return out
}

// Kept returns all that was released of a block so far.
func (r *Run) Kept(block int) []*Set {
	var out []*Set
	for _, s := range r.sets {
		if s.block == block {
			kept := &Set{PaidPico: s.paidPico}
			s.method.keep(kept)
			out = append(out, kept)
		}
	}
	return out
}

// Open counts the groups whose target is not reached, and those that have one.
func (r *Run) Open() (open, all int) {
	for _, s := range r.sets {
		if s.plan.Reduction != nil {
			released := s.method.released()
			open, all = open+len(s.plan.Reduction.Open(released)), all+len(released.Rows)
		}
	}
	return open, all
}

// pays notes the cost of a round in the measure of its noise reduction.
func (s *set) pays(price Pricer, e dp.ComposedEvent) {
	if s.plan.Reduction == nil {
		return
	}
	measure := dp.ZCDP
	if !s.plan.Reduction.Independent() {
		measure = dp.PureDP
	}
	if loss, err := price(e, measure); err == nil {
		s.paidPico += loss.Pico()
	}
}
