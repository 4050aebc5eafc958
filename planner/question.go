package planner

import (
	"fmt"
	"slices"
	"strconv"

	"dpproxy/dp"
	"dpproxy/planner/policy"
	"dpproxy/planner/source"
)

// Question returns all of the block on which its answer depends, except the secret and the data: the meaning of the reads, their
// constants, the order of the rows, and the noise.
func (b *BlockPlan) Question() [][]byte {
	return append([][]byte{[]byte(dp.Exact(b.Event()))}, b.reading()...)
}

// meanings says what is read for the parts of a block.
type meanings interface {
	// means returns texts for a part of a set that are equal only if its exact numbers are, in every database that policy and schema admit.
	means(g *GroupingSet, p part) []string
	// reads writes the reads of a set.
	reads(g *GroupingSet) ([]*Read, error)
}

// reading returns the meaning of the reads. It is written once.
func (b *BlockPlan) reading() [][]byte {
	if b.asks == nil {
		return nil
	}
	if b.asks.reading == nil {
		b.asks.reading = append(b.asks.reading, b.asks.concealed...)
		for _, g := range b.Sets {
			b.asks.reading = append(b.asks.reading, frameOf(g)...)
			for _, p := range partsOf(&g.aggregation) {
				if p.measure != nil {
					b.asks.reading = append(b.asks.reading, []byte(p.measure.question()))
				}
				b.asks.reading = append(b.asks.reading, readingOf(b.asks, g, p)...)
			}
		}
	}
	return slices.Clip(b.asks.reading)
}

// An asking is what the question of a block is made of.
type asking struct {
	meanings
	reading [][]byte // nil until it is written
	parts   []*Part  // of [PartsOf], once they are asked for
	// settings are those of which limits depend.
	settings string
	// concealed are the views of the tables that are read, one for each, if no analyst may see the query of one of them: that it reads the
	// same as a query that an analyst has written must not be told.
	concealed [][]byte
}

// concealedViews returns the view of each table that a source reads, or nothing if analysts may see all of their queries.
func concealedViews(s *source.Source) (views [][]byte) {
	if s.Concealing() {
		s.EachTable(func(_ *policy.Table, view string) { views = append(views, []byte("view "+view)) })
	}
	return views
}

// frameOf returns the order of the rows of a set, and which groups are shown.
func frameOf(g *GroupingSet) [][]byte {
	frame := [][]byte{[]byte(strconv.Itoa(g.size))}
	for _, l := range g.lists {
		for _, row := range l.rows {
			frame = append(frame, []byte(ArrayText(row)))
		}
	}
	if g.running != nil {
		frame = append(frame, g.running.question())
	}
	if g.Top != nil {
		frame = append(frame, []byte(g.Top.question()))
	}
	return frame
}

// readingOf returns on what the exact numbers of a part depend.
func readingOf(m meanings, g *GroupingSet, p part) [][]byte {
	var texts [][]byte
	for _, st := range p.statistics {
		if c := st.choosing(); c != nil {
			texts = append(texts, fmt.Appendf(nil, "%s %d", c.question(), st.choiceFraction()))
		}
	}
	for _, text := range m.means(g, p) {
		texts = append(texts, []byte(text))
	}
	return texts
}

// ReductionQuestion returns all on which the measurements of the block depend, and their boundary, but neither the target nor its price: a
// statement with another target continues from them. Like [BlockPlan.Question] it contains neither the secret nor data.
func (b *BlockPlan) ReductionQuestion() [][]byte {
	q := b.reading()
	for _, p := range b.Sets {
		if p.Selection != nil {
			q = append(q, []byte(dp.Exact(p.Selection.Event())))
		}
		if p.Reduction == nil {
			continue
		}
		q = append(q, fmt.Appendf(nil, "%s %v", p.Reduction.Mechanism, p.alpha))
		for _, m := range p.Reduction.Statistics {
			q = append(q, fmt.Appendf(nil, "%v %v %+v", m.Sensitivity, m.beta, m.within))
			if p.Reduction.Mechanism != brownian { // a path ends with its last level
				q = append(q, fmt.Appendf(nil, "%d", p.Reduction.PoolPico))
			}
		}
	}
	return q
}

// Request identifies the targets of the block and their allowance: the same request gets the same answer again, whether or not the target
// was reached.
func (b *BlockPlan) Request() []byte {
	var s []byte
	for _, p := range b.Sets {
		if p.Reduction != nil {
			s = fmt.Appendf(s, "%+v %d ", p.Reduction.settings.Target, p.Reduction.settings.EpsilonPico)
		}
	}
	return s
}
