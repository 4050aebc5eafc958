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
// shown to the statement; otherwise the statement draws it anew, as another generation of the same question, which is more precise. A part
// that stands in several blocks of a statement is drawn once.
type piece struct {
	of       *planner.Part
	question *question
	found    *answers.Release  // that is shown; nil if the part is to be drawn
	with     *piece            // of another block, whose draw is shown; nil if the part is found, or drawn by itself
	released *planner.Released // that is shown; nil until it is drawn
	unpaid   bool              // the analyst is shown it, and has not paid for it
}

// isDrawn reports whether the part is to be drawn by itself.
func (p *piece) isDrawn() bool { return p.found == nil && p.with == nil }

// standing is how the part stands to the statements before.
func (p *piece) standing() planner.Standing {
	switch {
	case p.with != nil:
		return planner.Shared
	case p.found == nil:
		return planner.New
	case p.unpaid:
		return planner.Unpaid
	}
	return planner.Remembered
}

// Standings returns how the parts of each block stand to the statements before, or the block as a whole.
func (r *Recalled) Standings() [][]planner.Standing {
	out := make([][]planner.Standing, len(r.blocks))
	for i, b := range r.blocks {
		switch {
		case b == nil:
		case b.pieces != nil:
			for _, p := range b.pieces {
				out[i] = append(out[i], p.standing())
			}
		case r.Released[i] != nil && b.unpaid:
			out[i] = []planner.Standing{planner.Unpaid}
		case r.Released[i] != nil:
			out[i] = []planner.Standing{planner.Remembered}
		}
	}
	return out
}

// pieceOf returns the question of a part.
func (m *Memory) pieceOf(b *planner.BlockPlan, p *planner.Part, epoch string) *piece {
	return &piece{of: p, question: &question{
		parts: slices.Concat([][]byte{[]byte("part")}, m.place(b, epoch), p.Question()), generations: mostGenerations, generation: -1,
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

// find looks for the part.
func (p *piece) find(get func(answers.Key) *answers.Release, analyst Analyst) {
	p.draw()
	found := p.question.last(get)
	if found != nil && analyst.owes(found) && !bytes.Equal(found.Request, lawOf(p.of)) {
		found = p.cheaper(get, analyst) // it costs the analyst more than they ask for
	}
	p.take(found)
}

// together has each part that several blocks of a statement draw drawn once, for the block that gives it most. All blocks that ask the
// question show that draw: one number is one number.
func together(blocks []*block) {
	most := map[answers.Key]*piece{}
	for _, p := range allPieces(blocks) {
		key := p.question.next()
		if other := most[key]; p.isDrawn() && (other == nil || !p.of.Suffices(other.of.Asked())) {
			most[key] = p
		}
	}
	for _, p := range allPieces(blocks) {
		if drawn := most[p.question.next()]; drawn != nil && drawn != p {
			p.show(drawn)
		}
	}
}

// show shows the part as another block draws it, if it is then as precise as the statement asks for.
func (p *piece) show(drawn *piece) {
	if budget := drawn.of.Asked(); p.of.Suffices(budget) && p.of.ShowAs(budget) && bytes.Equal(lawOf(p.of), lawOf(drawn.of)) {
		p.found, p.released, p.with = nil, nil, drawn
		return
	}
	p.take(p.found) // as it was
}

func allPieces(blocks []*block) (all []*piece) {
	for _, b := range blocks {
		if b != nil {
			all = append(all, b.pieces...)
		}
	}
	return all
}

// leave has the pieces of a block read that are drawn by themselves.
func (r *Recalled) leave(i int, b *planner.BlockPlan) {
	pieces := r.blocks[i].pieces
	known := make([]bool, len(pieces))
	for n, p := range pieces {
		known[n] = !p.isDrawn()
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
		if p.found == nil || !r.analyst.owes(p.found) {
			continue
		}
		if key := p.question.key(p.question.generation); !r.owing[key] { // a release that several blocks show is owed once
			r.owing[key], p.unpaid = true, true
			r.Owed = append(r.Owed, p.of.Event()...)
		}
	}
	if !slices.ContainsFunc(pieces, func(p *piece) bool { return p.found == nil }) {
		r.Released[i] = r.blocks[i].whole()
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
	p.found, p.with, p.released, p.unpaid = nil, nil, nil, false
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

// drawn returns the pieces that are drawn by themselves.
func (b *block) drawn() []*piece {
	return slices.DeleteFunc(slices.Clone(b.pieces), func(p *piece) bool { return !p.isDrawn() })
}

// whole returns the relation of a block of which all pieces are known.
func (b *block) whole() []*planner.Released {
	var parts []*planner.Part
	var released []*planner.Released
	for _, p := range b.pieces {
		of := p
		if p.with != nil {
			of = p.with
		}
		parts, released = append(parts, p.of), append(released, of.released)
	}
	return []*planner.Released{planner.Merged(parts, released)}
}

// give divides the relation that was drawn of a block among its pieces.
func (b *block) give(drawn *planner.Released) {
	pieces := b.drawn()
	parts := make([]*planner.Part, len(pieces))
	for n, p := range pieces {
		parts[n] = p.of
	}
	for n, released := range planner.Split(parts, drawn) {
		pieces[n].released = released
	}
}

// Complete fills in the relations of blocks after their read: numbers that were drawn, beside others that were remembered.
func (r *Recalled) Complete(released [][]*planner.Released, drawn func(block int) []*planner.Released) {
	for i, b := range r.blocks {
		if released[i] != nil {
			continue
		}
		switch sets := drawn(i); {
		case b == nil || b.pieces == nil:
			released[i] = sets
		case sets != nil:
			b.give(sets[0])
		}
	}
	for i, b := range r.blocks {
		if released[i] == nil && b != nil && b.pieces != nil {
			released[i] = b.whole()
		}
	}
}

// rememberPieces keeps the pieces that were drawn. Of one that another process has drawn meanwhile with the same budget, that stays, and is
// shown: it reports whether there is one.
func (m *Memory) rememberPieces(ctx context.Context, b *block, kept *release.Set, analyst Analyst) (other bool) {
	b.give(&planner.Released{Clips: kept.Clips, Rows: kept.Rows})
	for _, p := range b.drawn() {
		r := p.record(p.released, analyst.payers())
		r.At = m.time()
		first, err := m.store.Put(ctx, p.question.next(), r)
		if err != nil {
			m.log.Warn("an answer is not remembered", "cause", err)
		}
		if first == nil || len(first.Sets) != 1 || !bytes.Equal(first.Request, lawOf(p.of)) {
			continue
		}
		if released, ok := partReleased(first.Sets[0], p.of); ok {
			p.released, other = released, true
			if analyst.Budget {
				m.pay(ctx, p.question.next(), first, analyst)
			}
		}
	}
	return other
}
