package memory

import (
	"bytes"
	"context"
	"slices"

	"dpproxy/answers"
	"dpproxy/planner"
	"dpproxy/proxy/release"
)

// A piece is a part of a block that is remembered by itself. A part that was drawn with at least the budget that a statement gives it is
// shown to the statement; otherwise the statement draws it anew, as another generation of the same question, which is more precise.
type piece struct {
	of       *planner.Part
	question *question
	found    *answers.Release  // that is shown; nil if the part is to be drawn
	released *planner.Released // of found
	unpaid   bool              // the analyst is shown it, and has not paid for it
}

// pieceOf returns the question of a part.
func (m *Memory) pieceOf(b *planner.BlockPlan, p *planner.Part) *piece {
	return &piece{of: p, question: &question{
		parts: slices.Concat([][]byte{[]byte("part")}, m.place(b), p.Question()), generations: mostGenerations, generation: -1,
	}}
}

// cheaper looks for a draw that the analyst has paid for, or one with the budget that they ask for. Otherwise that one is drawn.
func (p *piece) cheaper(get func(answers.Key) *answers.Release, analyst Analyst) *answers.Release {
	for g := p.question.generation - 1; g >= 0; g-- {
		if found := get(p.question.key(g)); found != nil && !analyst.owes(found) && p.take(found) {
			return found
		}
	}
	p.draw()
	p.question = p.question.alone(lawOf(p.of))
	return p.question.last(get)
}

// alone is the question of a draw with one budget alone.
func (q *question) alone(law []byte) *question {
	return &question{parts: slices.Concat(q.parts, [][]byte{[]byte("alone"), law}), generations: 1, generation: -1}
}

// recallPieces looks for the parts of a block.
func (m *Memory) recallPieces(ctx context.Context, r *Recalled, i int, b *planner.BlockPlan) {
	pieces := r.blocks[i].pieces
	known := make([]bool, len(pieces))
	for n, p := range pieces {
		get := func(key answers.Key) *answers.Release { return m.get(ctx, key) }
		p.draw()
		found := p.question.last(get)
		if found != nil && r.analyst.owes(found) && !bytes.Equal(found.Request, lawOf(p.of)) {
			found = p.cheaper(get, r.analyst) // it costs the analyst more than they ask for
		}
		known[n] = p.take(found)
	}
	left, err := planner.Without(b, known)
	if err != nil { // the rest alone cannot be read
		for _, p := range pieces {
			p.draw()
		}
		return
	}
	r.left[i] = left
	for _, p := range pieces {
		if p.found == nil {
			continue
		}
		if p.unpaid = r.analyst.owes(p.found); p.unpaid {
			r.Owed = append(r.Owed, p.of.Event()...)
		}
	}
	if !left.Reads() {
		r.Released[i] = r.blocks[i].whole(nil)
	}
}

// take shows the part as it was found, if it is as precise as the statement asks for. Otherwise the part is drawn.
func (p *piece) take(found *answers.Release) bool {
	p.draw()
	if found == nil || len(found.Sets) != 1 || len(found.Sets[0].Budget) != 2 {
		return false
	}
	set := found.Sets[0]
	had := planner.Budget{EpsilonPico: set.Budget[0], RhoPico: set.Budget[1]}
	if !bytes.Equal(found.Request, lawOf(p.of)) { // it is not drawn as the statement would have it
		if !p.of.Suffices(had) || !p.of.ShowAs(had) {
			return false
		}
		if !bytes.Equal(found.Request, lawOf(p.of)) {
			p.draw()
			return false
		}
	}
	released, ok := partReleased(set, p.of)
	if !ok {
		p.draw()
		return false
	}
	p.found, p.released = found, released
	return true
}

// draw has the part drawn with the budget that the statement gives it.
func (p *piece) draw() {
	p.found, p.released, p.unpaid = nil, nil, false
	p.of.ShowAs(p.of.Asked())
}

// lawOf is a digest of how a part is drawn.
func lawOf(p *planner.Part) []byte {
	key := answers.KeyOf(p.Law())
	return key[:]
}

// partReleased reads the release of a part, false if it is none of it.
func partReleased(kept answers.GroupingSet, p *planner.Part) (*planner.Released, bool) {
	var measures []*planner.Measure
	if m := p.Measure(); m != nil {
		measures = append(measures, m)
	}
	out := &planner.Released{}
	var ok bool
	if out.Clips, ok = clips(kept.Clips, measures); !ok || len(kept.Partitions) != p.Rows() {
		return nil, false
	}
	for _, group := range kept.Partitions {
		if len(group.Values) != p.Integers() {
			return nil, false
		}
		out.Rows = append(out.Rows, group.Values)
	}
	return out, true
}

// record writes the release of a part.
func (p *piece) record(released *planner.Released, paid []string) answers.Release {
	set := record(&release.Set{Clips: released.Clips, Rows: released.Rows})
	budget := p.of.Asked()
	set.Budget = []int64{budget.EpsilonPico, budget.RhoPico}
	return answers.Release{Request: lawOf(p.of), Sets: []answers.GroupingSet{set}, Paid: paid}
}

// drawn returns the pieces that are drawn.
func (b *block) drawn() []*piece {
	return slices.DeleteFunc(slices.Clone(b.pieces), func(p *piece) bool { return p.found != nil })
}

// whole returns the relation of a block, of whose pieces some were remembered and the others have just been drawn.
func (b *block) whole(drawn []*planner.Released) []*planner.Released {
	var parts []*planner.Part
	var released []*planner.Released
	for _, p := range b.pieces {
		parts = append(parts, p.of)
		if p.found != nil {
			released = append(released, p.released)
			continue
		}
		released, drawn = append(released, drawn[0]), drawn[1:]
	}
	return []*planner.Released{planner.Merged(parts, released)}
}

// split divides the relation that was drawn of a block among its pieces.
func (b *block) split(drawn *planner.Released) []*planner.Released {
	var parts []*planner.Part
	for _, p := range b.drawn() {
		parts = append(parts, p.of)
	}
	return planner.Split(parts, drawn)
}

// Whole returns the relations of a block after its read: numbers that were drawn, beside others that were remembered.
func (r *Recalled) Whole(i int, drawn []*planner.Released) []*planner.Released {
	b := r.blocks[i]
	if b == nil || b.pieces == nil || drawn == nil {
		return drawn
	}
	return b.whole(b.split(drawn[0]))
}

// rememberPieces keeps the pieces that were drawn. Of one that another process has drawn meanwhile with the same budget, that stays: it
// returns the relations with it.
func (m *Memory) rememberPieces(ctx context.Context, b *block, kept *release.Set, analyst Analyst) []*planner.Released {
	drawn := b.split(&planner.Released{Clips: kept.Clips, Rows: kept.Rows})
	other := false
	for n, p := range b.drawn() {
		first, err := m.store.Put(ctx, p.question.next(), p.record(drawn[n], analyst.payers()))
		if err != nil {
			m.log.Warn("an answer is not remembered", "cause", err)
		}
		if first == nil || len(first.Sets) != 1 || !bytes.Equal(first.Request, lawOf(p.of)) {
			continue
		}
		if released, ok := partReleased(first.Sets[0], p.of); ok {
			drawn[n], other = released, true
			if analyst.Budget {
				m.pay(ctx, p.question.next(), first, analyst)
			}
		}
	}
	if !other {
		return nil
	}
	return b.whole(drawn)
}
