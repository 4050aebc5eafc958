package planner

import (
	"cmp"
	"math/big"
	"slices"

	"dpproxy/dp"
)

// A Part is a part of a block whose parts are remembered one by one: a vector of statistics that is drawn together.
type Part struct {
	part
	set   *GroupingSet
	asks  *asking
	asked Budget // by the statement
	now   Budget // with which the plan shows the part
	// question is nil until it is written.
	question [][]byte
}

// A Budget is what a part may spend, in 10⁻¹² of ε and of ρ. Which of them counts follows from the kind of noise.
type Budget struct{ EpsilonPico, RhoPico int64 }

// Suffices reports whether the part is at least as precise when it is drawn with a budget as the statement asks for.
func (p *Part) Suffices(b Budget) bool {
	if p.set.division.all.kind == gaussian {
		return b.RhoPico >= p.asked.RhoPico
	}
	return b.EpsilonPico >= p.asked.EpsilonPico
}

// PartsOf returns the parts of a block that are remembered one by one, in the order of their integers. There are none if the block is
// remembered as a whole: if it has private groups, the top of groups or several grouping sets, chooses values, or has an error to reach.
func PartsOf(b *BlockPlan) []*Part {
	if b.asks == nil || len(b.Sets) != 1 {
		return nil
	}
	g := b.Sets[0]
	if g.Private() || g.Top != nil || g.Reduction != nil || g.totals != nil || g.division == nil || len(g.Reads) == 0 {
		return nil
	}
	if slices.ContainsFunc(g.statistics, func(s *statistic) bool { return s.choosing() != nil }) {
		return nil
	}
	if b.asks.parts == nil {
		for _, p := range partsOf(&g.aggregation) {
			budget := g.division.of(p)
			b.asks.parts = append(b.asks.parts, &Part{part: p, set: g, asks: b.asks, asked: budget, now: budget})
		}
	}
	return b.asks.parts
}

// of returns the budget of a part.
func (d *split) of(p part) (b Budget) {
	for _, s := range p.statistics {
		share := d.part(s.shares)
		b.EpsilonPico, b.RhoPico = b.EpsilonPico+share.epsilonPico, b.RhoPico+share.rhoPico
	}
	return b
}

// Question returns all on which the exact numbers of the part depend, except the secret and the data, and the kind of its noise.
func (p *Part) Question() [][]byte {
	if p.question == nil {
		all := p.set.division.all
		p.question = append([][]byte{[]byte(all.kind), []byte(p.asks.settings)}, p.asks.concealed...)
		p.question = append(p.question, frameOf(p.set)...)
		p.question = append(p.question, readingOf(p.asks, p.set, p.part)...)
	}
	return slices.Clip(p.question)
}

// Asked is the budget that the statement gives the part.
func (p *Part) Asked() Budget { return p.asked }

// Measure returns the measure of the part, or nil.
func (p *Part) Measure() *Measure { return p.measure }

// Rows is the number of groups.
func (p *Part) Rows() int { return p.set.Shows() }

// Integers is the number of integers that the part has in each group.
func (p *Part) Integers() (n int) {
	for _, s := range p.statistics {
		n += s.released()
	}
	return n
}

// Law describes how the part is drawn: its limits and its noise.
func (p *Part) Law() []byte {
	law := dp.Exact(p.Event())
	if p.measure != nil {
		law += p.measure.question()
	}
	return []byte(law)
}

// Event is the release of the part.
func (p *Part) Event() (e dp.ComposedEvent) {
	if p.measure != nil {
		e = append(p.measure.choosing(), p.measure.releases(&p.set.aggregation)...)
	}
	for _, s := range p.statistics {
		for _, mech := range s.levels {
			e = append(e, mech.Event())
		}
	}
	return e
}

// ShowAs has the plan show the part as it is drawn with another budget: what was drawn before is shown with the errors that it has. It
// returns false if there is no such draw, and leaves the part as the statement asks for it.
func (p *Part) ShowAs(b Budget) bool {
	if b == p.now {
		return true
	}
	if p.assign(b) == nil {
		return true
	}
	if b != p.asked {
		_ = p.assign(p.asked) // as it was before
	}
	return false
}

func (p *Part) assign(b Budget) error {
	of := split{all: p.set.division.all}
	of.all.epsilonPico, of.all.rhoPico = b.EpsilonPico, b.RhoPico
	for _, s := range p.statistics {
		of.shares += s.shares
	}
	p.now, p.set.cache = b, &estimators{}
	for _, s := range p.statistics {
		s.noises.all.Clear() // of another budget
	}
	if p.measure != nil {
		return p.measure.assign(&p.set.aggregation, of)
	}
	s := p.statistics[0]
	return s.assign(of.part(s.shares))
}

// Without returns the block without some of its parts, which are known.
func Without(b *BlockPlan, known []bool) (*BlockPlan, error) {
	rest := *b
	var unknown []part
	for i, p := range PartsOf(b) {
		if !known[i] {
			unknown = append(unknown, p.part)
		}
	}
	switch len(unknown) {
	case 0:
		rest.Known = true
	case len(known):
	default:
		g := only(b.Sets[0], unknown)
		var err error
		if g.Reads, err = b.asks.reads(g); err != nil {
			return nil, err
		}
		rest.Sets, rest.agreements = []*GroupingSet{g}, nil
	}
	return &rest, nil
}

// only returns a set of some parts of another one, with statistics of its own.
func only(g *GroupingSet, parts []part) *GroupingSet {
	out := &GroupingSet{results: results{aggregation: g.aggregation, alpha: g.alpha, cache: &estimators{}}, division: g.division}
	out.statistics, out.Measures, out.statisticsOf, out.releasedOf = nil, nil, nil, nil
	for _, p := range parts {
		own := map[*statistic]*statistic{}
		var m *Measure
		if p.measure != nil {
			of := *p.measure
			m, of.at, of.statistics, of.bounding = &of, len(out.Measures), nil, nil
			out.Measures = append(out.Measures, m)
		}
		for _, s := range p.statistics {
			own[s] = copied(s, m)
			if m != nil {
				m.statistics = append(m.statistics, len(out.statistics))
			}
			out.statistics = append(out.statistics, own[s])
		}
		if m == nil {
			continue
		}
		m.at = len(out.Measures) - 1
		for _, s := range p.measure.bounding {
			m.bounding = append(m.bounding, cmp.Or(own[s], copied(s, m)))
		}
	}
	out.place()
	return out
}

// copied returns a copy of a statistic for a set of its own.
func copied(s *statistic, m *Measure) *statistic {
	return &statistic{
		statisticForm: s.statisticForm, filter: s.filter, shares: s.shares, sensitivity: s.sensitivity, levels: s.levels,
		measure: m, each: s.each, budget: s.budget, along: s.along,
	}
}

// Merged returns the relation of a block of which each part was released by itself.
func Merged(parts []*Part, released []*Released) *Released {
	g := parts[0].set
	out := &Released{Rows: make([][]*big.Int, parts[0].Rows())}
	if len(g.Measures) > 0 {
		out.Clips = make([]Clip, len(g.Measures))
	}
	for i := range out.Rows {
		out.Rows[i] = make([]*big.Int, g.Integers())
	}
	for n, p := range parts {
		if p.measure != nil {
			out.Clips[p.measure.at] = released[n].Clips[0]
		}
		at := 0
		for _, s := range p.statistics {
			for i, row := range released[n].Rows {
				copy(out.Rows[i][s.first:s.first+s.released()], row[at:])
			}
			at += s.released()
		}
	}
	return out
}

// Split is the inverse of Merged, for the parts that a block without the others has.
func Split(parts []*Part, released *Released) []*Released {
	out := make([]*Released, len(parts))
	at, measure := 0, 0
	for n, p := range parts {
		out[n] = &Released{}
		if p.measure != nil {
			out[n].Clips = released.Clips[measure : measure+1]
			measure++
		}
		for _, row := range released.Rows {
			out[n].Rows = append(out[n].Rows, row[at:at+p.Integers()])
		}
		at += p.Integers()
	}
	return out
}
