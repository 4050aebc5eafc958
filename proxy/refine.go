package proxy

import (
	"context"
	"crypto/sha256"
	"math/big"
	"slices"

	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// This file holds what is remembered of chains. The question names what is measured, of
// which data, under which policy and secret, but not the error that was asked for: whoever
// asks for a larger one gets what is known, and whoever asks for a smaller one pays for what
// is missing. Each read that adds measurements is a generation of its own; the last one has
// them all.

// memory is what is remembered of the blocks of a plan.
type memory struct {
	known  *known // the blocks that are precise enough
	blocks []*blockMemory
	notes  []string
}

// blockMemory is one block as it was left.
type blockMemory struct {
	base       [][]byte
	generation int            // of the last one, −1 if there is none
	parts      []*measurement // nil if there is none, or nothing goes on from it
	paid       payments       // of those who have paid for parts
	pointer    answers.Key
}

// measurement is one part of a block as it was left.
type measurement struct {
	keys [][]*string
	// known is by partition and measure; of a chain of independent looks.
	known [][][]mechanisms.Measurement
	// rows are what a path shows at its level.
	rows  [][]*big.Int
	level int
	// paidPico is what all reads together have cost, in the measure of the chain.
	paidPico int64
}

// measured returns what is known of a part, nil if it begins anew.
func (m *memory) measured(block, part int) [][][]mechanisms.Measurement {
	b := m.blocks[block]
	if b == nil || b.parts == nil {
		return nil
	}
	return b.parts[part].known
}

// recallChains looks for what was measured before.
func (a *answer) recallChains(ctx context.Context, plan *planner.Plan, pre *prelude) *memory {
	n := len(plan.Blocks)
	m := &memory{
		known:  &known{keys: make([]answers.Key, n), answers: make([]*answers.Answer, n), released: make([][]*planner.Released, n)},
		blocks: make([]*blockMemory, n),
	}
	if a.p.cfg.Answers.Store == nil {
		return m
	}
	for i, b := range plan.Blocks {
		if b.Reads() {
			a.recallBlock(ctx, m, i, b, pre)
		}
	}
	return m
}

func (a *answer) recallBlock(ctx context.Context, m *memory, i int, b *planner.BlockPlan, pre *prelude) {
	cfg := a.p.cfg.Answers
	question := b.ChainQuestion(pre.values)
	if !pre.settings.Refine {
		question = append(question, []byte("alone"), b.Request())
	}
	mem := &blockMemory{generation: -1, pointer: answers.KeyOf(append([][]byte{[]byte("chain")}, question...)...)}
	mem.base = append([][]byte{[]byte("chain"), cfg.Version, []byte(cfg.Epoch())}, question...)
	m.blocks[i] = mem
	last := mem.last(func(g int) *answers.Answer {
		found, err := cfg.Store.Get(ctx, mem.key(g))
		if err != nil {
			a.p.cfg.Log.Warn("an answer is forgotten", "cause", err)
		}
		return found
	})
	if last == nil {
		if before, err := cfg.Store.Get(ctx, mem.pointer); err == nil && before != nil {
			m.notes = append(m.notes, "begun anew: what was measured before is of other data, or under another policy")
		}
		return
	}
	parts, paid, same := unpackChains(last, b)
	if parts == nil {
		return
	}
	var owed dp.ComposedEvent
	if a.owes(last) {
		owed = owedFor(parts, b, paid[payerOf(a.analyst)], a.p.cfg.Source)
	}
	released := make([]*planner.Released, len(b.Parts))
	enough := true
	for j, part := range b.Parts {
		if released[j] = parts[j].released(part); part.Chain != nil {
			enough = enough && len(part.Chain.Open(released[j])) == 0
		}
	}
	switch {
	case enough || same:
		m.known.keys[i], m.known.answers[i], m.known.released[i] = mem.key(mem.generation), last, released
		if a.owes(last) {
			m.known.owed, m.known.unpaid = append(m.known.owed, owed...), append(m.known.unpaid, i)
		}
	case refinable(b):
		mem.parts, mem.paid = parts, paid.with(last.Paid, parts)
		m.notes = append(m.notes, "refined what was measured before")
		m.known.owed = append(m.known.owed, owed...)
	}
}

// refinable reports whether a later read can go on from what is known: from independent
// measurements of the same partitions. Which private ones there are is selected anew.
func refinable(b *planner.BlockPlan) bool {
	for _, p := range b.Parts {
		if p.Private() || p.Chain == nil && len(p.Reads) > 0 || p.Chain != nil && !p.Chain.Independent() {
			return false
		}
	}
	return true
}

// released is what a part shows of what is known.
func (m *measurement) released(p *planner.Part) *planner.Released {
	switch {
	case p.Chain == nil:
		return &planner.Released{Keys: m.keys, Rows: m.rows}
	case !p.Chain.Independent():
		return p.Chain.Revealed(m.keys, m.rows, m.level)
	}
	estimates := make([][]mechanisms.Estimate, len(p.Chain.Measures))
	for k := range estimates {
		for _, partition := range m.known {
			estimates[k] = append(estimates[k], mechanisms.Combined(partition[k]))
		}
	}
	return p.Chain.Estimated(m.keys, estimates)
}

// owedFor is what an analyst owes for the block in his own budget: all that was paid, but for
// what he has paid of each part.
func owedFor(parts []*measurement, b *planner.BlockPlan, paid []int64, src mechanisms.Source) dp.ComposedEvent {
	var events dp.ComposedEvent
	for j, part := range b.Parts {
		if part.Selection != nil {
			events = append(events, part.Selection.Event())
		}
		switch {
		case part.Chain == nil:
			for _, m := range part.Mechanisms {
				events = append(events, m.Event())
			}
		case part.Chain.Independent():
			owed := parts[j].paidPico
			if paid != nil {
				owed -= paid[j]
			}
			if owed > 0 {
				events = append(events, priced(owed))
			}
		default:
			if l, err := newReductionLooks(part, src); err == nil {
				for _, e := range l.events[:parts[j].level+1] {
					events = append(events, e...)
				}
			}
		}
	}
	return events
}

// rememberChains keeps what was measured, as a new generation of each block. What fails, or
// comes after another one's, is forgotten: that costs budget later, and no more.
func (a *answer) rememberChains(ctx context.Context, c *chains) {
	store := a.p.cfg.Answers.Store
	if store == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	for i, b := range c.plan.Blocks {
		mem := c.memory.blocks[i]
		if !b.Reads() || mem == nil {
			continue
		}
		answer := packChains(b, c.measurements(i, b), mem.paid.without(a.analyst))
		answer.Paid = a.payers()
		err := store.Put(ctx, mem.key(mem.generation+1), answer)
		if err == nil {
			err = store.Put(ctx, mem.pointer, answers.Answer{Rows: [][]*big.Int{}})
		}
		if err != nil {
			a.p.cfg.Log.Warn("an answer is not remembered", "cause", err)
		}
	}
}

// measurements returns what is known of a block after its chains.
func (c *chains) measurements(block int, b *planner.BlockPlan) []*measurement {
	out := make([]*measurement, len(b.Parts))
	for j := range out {
		out[j] = &measurement{}
	}
	for _, p := range c.parts {
		if p.block != block {
			continue
		}
		m := out[p.index]
		m.keys, m.paidPico = p.released.Keys, p.paidPico
		switch l := p.look.(type) {
		case *brownianLooks:
			m.known = l.all()
			if before := c.memory.blocks[block].parts; before != nil {
				m.paidPico += before[p.index].paidPico
			}
		case *reductionLooks:
			m.rows, m.level = p.released.Rows, max(l.level, 0)
		case nil:
			m.rows = p.released.Rows
		}
	}
	return out
}

// all returns the measurements of all reads.
func (l *brownianLooks) all() [][][]mechanisms.Measurement {
	out := make([][][]mechanisms.Measurement, len(l.fresh))
	for i, measures := range l.fresh {
		out[i] = make([][]mechanisms.Measurement, len(measures))
		for m, fresh := range measures {
			if l.known != nil {
				out[i][m] = append(out[i][m], l.known[i][m]...)
			}
			out[i][m] = append(out[i][m], fresh...)
		}
	}
	return out
}

// digest of what was asked for.
func digest(b *planner.BlockPlan) *big.Int {
	sum := sha256.Sum256(b.Request())
	return new(big.Int).SetBytes(sum[:])
}

// packChains writes the parts of a block as rows of an answer: one for the block, with what
// was asked for; those of payments; one for each part, with the number of its partitions, what
// was paid, and its level; and one for each partition, with a list of variances and values for
// each measure, after its length, or with the values of a level.
func packChains(b *planner.BlockPlan, parts []*measurement, paid payments) answers.Answer {
	a := answers.Answer{Rows: append([][]*big.Int{{digest(b), big.NewInt(int64(len(paid)))}}, paid.rows()...)}
	a.Keys = slices.Repeat([][]*string{{}}, len(a.Rows))
	private := false
	for j, p := range b.Parts {
		m := parts[j]
		n := max(len(m.known), len(m.rows))
		a.Rows = append(a.Rows, []*big.Int{big.NewInt(int64(n)), big.NewInt(m.paidPico), big.NewInt(int64(m.level))})
		a.Keys = append(a.Keys, []*string{})
		private = private || p.Private()
		for i := range n {
			keys := []*string{}
			if m.keys != nil {
				keys = m.keys[i]
			}
			row := []*big.Int{}
			if m.known == nil {
				row = m.rows[i]
			} else {
				for _, list := range m.known[i] {
					row = append(row, big.NewInt(int64(len(list))))
					for _, x := range list {
						row = append(row, x.Variance, x.Value)
					}
				}
			}
			a.Rows, a.Keys = append(a.Rows, row), append(a.Keys, keys)
		}
	}
	if !private {
		a.Keys = nil
	}
	return a
}

// unpackChains is the inverse of packChains, nil if the answer is none to the block. It tells
// whether the same was asked for.
func unpackChains(a *answers.Answer, b *planner.BlockPlan) (parts []*measurement, paid payments, same bool) {
	r := &rowReader{rows: a.Rows, keys: a.Keys}
	head, _ := r.next()
	if len(head) != 2 || !head[1].IsInt64() {
		return nil, nil, false
	}
	paid = payments{}
	for range head[1].Int64() {
		row, _ := r.next()
		if !paid.read(row, len(b.Parts)) {
			return nil, nil, false
		}
	}
	for _, p := range b.Parts {
		m := r.part(p)
		if m == nil {
			return nil, nil, false
		}
		parts = append(parts, m)
	}
	if len(r.rows) > 0 {
		return nil, nil, false
	}
	return parts, paid, head[0].Cmp(digest(b)) == 0
}

// rowReader takes the rows of an answer one by one.
type rowReader struct {
	rows [][]*big.Int
	keys [][]*string
}

// next returns the next row, nil after the last.
func (r *rowReader) next() (row []*big.Int, keys []*string) {
	if len(r.rows) == 0 {
		return nil, nil
	}
	row, r.rows = r.rows[0], r.rows[1:]
	if len(r.keys) > 0 {
		keys, r.keys = r.keys[0], r.keys[1:]
	}
	return row, keys
}

// part reads a part, nil if it is not one.
func (r *rowReader) part(p *planner.Part) *measurement {
	head, _ := r.next()
	if len(head) != 3 {
		return nil
	}
	m := &measurement{paidPico: head[1].Int64(), level: int(head[2].Int64())}
	if p.Private() {
		m.keys = [][]*string{}
	} else if n := int(head[0].Int64()); n != p.Size() && len(p.Reads) > 0 {
		return nil
	}
	if p.Chain != nil && !p.Chain.Independent() && (m.level < 0 || m.level >= p.Chain.Levels()) {
		return nil
	}
	for range head[0].Int64() {
		row, keys := r.next()
		if p.Private() {
			if len(keys) != p.Keys() {
				return nil
			}
			m.keys = append(m.keys, keys)
		}
		if p.Chain == nil || !p.Chain.Independent() {
			if len(row) != len(p.Mechanisms) {
				return nil
			}
			m.rows = append(m.rows, row)
			continue
		}
		lists := measurementLists(row, len(p.Chain.Measures))
		if lists == nil {
			return nil
		}
		m.known = append(m.known, lists)
	}
	return m
}

// measurementLists reads the lists of one partition.
func measurementLists(row []*big.Int, measures int) [][]mechanisms.Measurement {
	var lists [][]mechanisms.Measurement
	for range measures {
		if len(row) == 0 || !row[0].IsInt64() {
			return nil
		}
		n := row[0].Int64()
		if row = row[1:]; n < 0 || n > int64(len(row))/2 {
			return nil
		}
		list := make([]mechanisms.Measurement, n)
		for k := range list {
			if row[2*k].Sign() <= 0 {
				return nil
			}
			list[k] = mechanisms.Measurement{Variance: row[2*k], Value: row[2*k+1]}
		}
		lists, row = append(lists, list), row[2*n:]
	}
	if len(row) > 0 {
		return nil
	}
	return lists
}
