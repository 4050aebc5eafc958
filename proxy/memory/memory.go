package memory

import (
	"context"
	"log/slog"
	"time"

	"dpproxy/answers"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/release"
)

// A Memory remembers releases in a store. A store that fails knows none, and a release that it does not keep
// costs budget when the question comes again, no more.
type Memory struct {
	store   answers.Store // nil: nothing is remembered
	version func(relations []catalog.Name) []byte
	epoch   func() string
	now     func() time.Time // nil: no release has a time
	log     *slog.Logger
	epochs  epochs
}

// New returns the Memory of a store, nil for none. The version covers the secret, and the policy and the schema of relations, nil for none;
// the epoch names the data: a release is of one epoch. Now is the clock of releases, nil for none.
func New(
	store answers.Store, version func([]catalog.Name) []byte, epoch func() string, now func() time.Time, log *slog.Logger,
) *Memory {
	if version == nil {
		version = func([]catalog.Name) []byte { return nil }
	}
	return &Memory{store: store, version: version, epoch: epoch, now: now, log: log}
}

// place returns the version of the answers of a block, and their epoch.
func (m *Memory) place(b *planner.BlockPlan, epoch string) [][]byte {
	return [][]byte{m.version(b.Relations()), []byte(epoch)}
}

// Place digests the version of answers about relations, and the present epoch.
func (m *Memory) Place(relations []catalog.Name) string {
	epoch := ""
	if m.epoch != nil {
		epoch = m.epoch()
	}
	return answers.KeyOf(m.version(relations), []byte(epoch)).String()
}

// time is the present one as a release has it, 0 without a clock.
func (m *Memory) time() int64 {
	if m.now == nil {
		return 0
	}
	return m.now().Unix()
}

// Keeps reports whether anything is remembered.
func (m *Memory) Keeps() bool { return m.store != nil }

// An Analyst asks. One without a budget, who gets one later, has not paid with it for their
// earlier questions.
type Analyst struct {
	Name   string
	Budget bool // of their own
}

// owes reports whether the analyst has a budget with which they have not paid for a release.
func (a Analyst) owes(found *answers.Release) bool { return a.Budget && !found.PaidBy(a.Name) }

// payers lists the analyst if they pay with a budget of their own.
func (a Analyst) payers() []string {
	if !a.Budget {
		return nil
	}
	return []string{a.Name}
}

// Recalled is all that is known of a plan.
type Recalled struct {
	// Released is known of each block and its grouping sets, nil of a block that must be read.
	Released [][]*planner.Released
	// Owed are releases that the analyst is shown and has not paid for.
	Owed dp.ComposedEvent
	// Notes tell the analyst how it is used.
	Notes []string
	// Aged says that all is of an earlier epoch than the present one, and Epoch is that.
	Aged  bool
	Epoch string

	analyst Analyst
	owing   map[answers.Key]bool // the parts of blocks that are owed
	blocks  []*block             // nil where nothing is remembered
	left    []*planner.BlockPlan // of each block; nil is all of it
}

// block is one block as it was left.
type block struct {
	question *question
	found    *answers.Release // the last generation; nil if there is none
	sets     []*release.Set   // that the next read goes on from; nil: it begins anew
	paid     payments         // for sets
	unpaid   bool             // the analyst is shown it, and has not paid for it
	pieces   []*piece         // if its parts are remembered one by one; then all else is nil
}

// Left returns what is left of each block to be read; nil is all of it.
func (r *Recalled) Left() []*planner.BlockPlan { return r.left }

// Before returns the sets that the read of a block goes on from, nil if it begins anew.
func (r *Recalled) Before(i int) []*release.Set {
	if r.blocks[i] == nil {
		return nil
	}
	return r.blocks[i].sets
}

// Recall looks for releases of the blocks of a plan. Without refine, one answers the same request
// alone. Where the present epoch does not have all of them, an earlier one answers that has, if none of its releases is older than since;
// the zero time permits none. Releases of several epochs are never mixed.
func (m *Memory) Recall(ctx context.Context, plan *planner.Plan, analyst Analyst, refine bool, since time.Time) *Recalled {
	if m.store == nil {
		return m.recallOf(ctx, plan, analyst, refine, "")
	}
	r := m.recallOf(ctx, plan, analyst, refine, m.epoch())
	if since.IsZero() || r.complete(plan) {
		return r
	}
	for _, epoch := range m.earlier(ctx, since) {
		if old := m.recallOf(ctx, plan, analyst, refine, epoch); old.complete(plan) && !old.AsOf().Before(since) {
			old.Aged, old.Epoch = true, epoch
			return old
		}
	}
	return m.recallOf(ctx, plan, analyst, refine, m.epoch()) // as the plan is shown by
}

// complete reports whether nothing is left to be read.
func (r *Recalled) complete(plan *planner.Plan) bool {
	for i, b := range plan.Blocks {
		if b.Reads() && r.Released[i] == nil {
			return false
		}
	}
	return true
}

// AsOf is when the oldest of the releases was drawn that are shown: the zero time if it is not known of one, or if there are none.
func (r *Recalled) AsOf() time.Time {
	var oldest int64
	for _, found := range r.shown() {
		if found.At == 0 {
			return time.Time{}
		}
		if oldest == 0 || found.At < oldest {
			oldest = found.At
		}
	}
	if oldest == 0 {
		return time.Time{}
	}
	return time.Unix(oldest, 0)
}

// Any reports whether a release of before is shown.
func (r *Recalled) Any() bool { return len(r.shown()) > 0 }

// shown are the releases that are.
func (r *Recalled) shown() (all []*answers.Release) {
	for i, b := range r.blocks {
		switch {
		case b == nil:
		case b.pieces != nil:
			for _, p := range b.pieces {
				if p.found != nil {
					all = append(all, p.found)
				}
			}
		case b.found != nil && (r.Released[i] != nil || b.sets != nil):
			all = append(all, b.found)
		}
	}
	return all
}

// recallOf is Recall in one epoch.
func (m *Memory) recallOf(ctx context.Context, plan *planner.Plan, analyst Analyst, refine bool, epoch string) *Recalled {
	n := len(plan.Blocks)
	r := &Recalled{
		Released: make([][]*planner.Released, n), analyst: analyst, owing: map[answers.Key]bool{}, blocks: make([]*block, n),
		left: make([]*planner.BlockPlan, n),
	}
	if m.store == nil {
		return r
	}
	for i, b := range plan.Blocks {
		if !b.Reads() {
			continue
		}
		r.blocks[i] = &block{}
		for _, p := range planner.PartsOf(b) {
			r.blocks[i].pieces = append(r.blocks[i].pieces, m.pieceOf(b, p, epoch))
		}
		if r.blocks[i].pieces != nil {
			for _, p := range r.blocks[i].pieces {
				p.find(func(key answers.Key) *answers.Release { return m.get(ctx, key) }, analyst)
			}
			continue
		}
		r.blocks[i].question = m.question(plan, b, refine, epoch)
		m.recallBlock(ctx, r, i, b)
		if r.Released[i] != nil {
			r.left[i] = b.AsKnown()
		}
	}
	together(r.blocks)
	for i, b := range plan.Blocks {
		if r.blocks[i] != nil && r.blocks[i].pieces != nil {
			r.leave(i, b)
		}
	}
	plan.Share(r.Released)
	return r
}

func (m *Memory) recallBlock(ctx context.Context, r *Recalled, i int, b *planner.BlockPlan) {
	known := r.blocks[i]
	known.found = known.question.last(func(key answers.Key) *answers.Release { return m.get(ctx, key) })
	if known.found == nil {
		if q := known.question; q.refined() && m.has(ctx, q.pointer) {
			r.Notes = append(r.Notes, "begun anew: what was measured before is of other data, or under another policy")
		}
		return
	}
	kept := known.found
	sets := setsOf(kept, b)
	if sets == nil {
		return
	}
	paid, owes := paymentsOf(kept), r.analyst.owes(known.found)
	var owed dp.ComposedEvent
	if owes {
		owed = owedFor(sets, b, paid[payerOf(r.analyst.Name)])
	}
	released, enough, ok := released(sets, b)
	switch {
	case !ok:
		return
	case enough || same(kept, b):
		r.Released[i], known.unpaid = released, owes
	case refinable(b):
		known.sets, known.paid = sets, paid.paidBy(known.found.Paid, sets)
		r.Notes = append(r.Notes, "refined what was measured before")
	default:
		return
	}
	r.Owed = append(r.Owed, owed...)
}

// get returns the release of a key, nil if there is none.
func (m *Memory) get(ctx context.Context, key answers.Key) *answers.Release {
	found, err := m.store.Get(ctx, key)
	if err != nil {
		m.log.Warn("an answer is forgotten", "cause", err)
	}
	return found
}

// has reports whether a key has a release.
func (m *Memory) has(ctx context.Context, key answers.Key) bool {
	found, err := m.store.Get(ctx, key)
	return err == nil && found != nil
}

// released returns the relations of the sets, and whether they are as precise as is asked for; ok is
// false if they are none of the block.
func released(sets []*release.Set, b *planner.BlockPlan) (out []*planner.Released, enough, ok bool) {
	out, enough = make([]*planner.Released, len(b.Sets)), true
	for j, set := range b.Sets {
		var err error
		if out[j], err = sets[j].Released(set); err != nil {
			return nil, false, false
		}
		enough = enough && (set.Reduction == nil || len(set.Reduction.Open(out[j])) == 0)
	}
	return out, enough, true
}

// refinable reports whether a later read can go on from the sets: from independent
// measurements of the same partitions. Which private ones there are is selected anew.
func refinable(b *planner.BlockPlan) bool {
	for _, p := range b.Sets {
		if p.Private() || p.Reduction == nil && len(p.Reads) > 0 || p.Reduction != nil && !p.Reduction.Independent() {
			return false
		}
	}
	return true
}

// owedFor is the debt of an analyst's own budget for the block: all that was paid, but for
// their own payments for each grouping set.
func owedFor(sets []*release.Set, b *planner.BlockPlan, paid []int64) dp.ComposedEvent {
	var events dp.ComposedEvent
	for j, set := range b.Sets {
		if set.Selection != nil {
			events = append(events, set.Selection.Event())
		}
		switch {
		case set.Reduction == nil:
			events = append(events, set.Releases()...)
		case set.Reduction.Independent():
			owed := sets[j].PaidPico
			if paid != nil {
				owed -= paid[j]
			}
			if owed > 0 {
				events = append(events, mechanisms.RefinementOf(owed))
			}
		default:
			events = append(append(events, set.Choosing()...), set.Reduction.Revealing(0, sets[j].Level)...)
		}
	}
	return events
}

// Remember keeps the sets of each block that was read, as a new generation, and that the analyst
// has paid for them. Of a block that has one already, drawn by a process that did not know of this
// one, that stays. It is returned, by block and grouping set, to be shown instead, where its price is the one that
// the analyst has paid: noise reduction has another price in each process.
func (m *Memory) Remember(
	ctx context.Context, rest *planner.Plan, known *Recalled, kept func(block int) []*release.Set,
) (earlier [][]*planner.Released) {
	ctx = context.WithoutCancel(ctx)
	m.enter(ctx)
	earlier = make([][]*planner.Released, len(rest.Blocks))
	other := false
	for i, b := range rest.Blocks {
		before := known.blocks[i]
		if !b.Reads() || before == nil {
			continue
		}
		if before.pieces != nil {
			other = m.rememberPieces(ctx, before, kept(i)[0], known.analyst) || other
			continue
		}
		r := before.question.write(kept(i), b, before.paid.without(known.analyst.Name))
		r.Paid, r.At = known.analyst.payers(), m.time()
		first, err := m.store.Put(ctx, before.question.next(), r)
		if err == nil && before.question.refined() {
			_, err = m.store.Put(ctx, before.question.pointer, answers.Release{})
		}
		if err != nil {
			m.log.Warn("an answer is not remembered", "cause", err)
		}
		if first != nil && !before.question.refined() {
			earlier[i] = m.shown(ctx, before.question, first, b, known.analyst)
		}
	}
	for i, b := range known.blocks {
		if other && b != nil && b.pieces != nil {
			earlier[i] = b.whole()
		}
	}
	return earlier
}

// shown returns the relations of a release that came first, and notes that the analyst has paid for it; nil if it is none of the
// block.
func (m *Memory) shown(
	ctx context.Context, q *question, first *answers.Release, b *planner.BlockPlan, analyst Analyst,
) []*planner.Released {
	sets := setsOf(first, b)
	if sets == nil {
		return nil
	}
	released, _, ok := released(sets, b)
	if !ok {
		return nil
	}
	if analyst.Budget {
		m.pay(ctx, q.next(), first, analyst)
	}
	return released
}

// Pay notes that the analyst has paid for releases that others had asked for.
func (m *Memory) Pay(ctx context.Context, known *Recalled) {
	for _, b := range known.blocks {
		if b == nil {
			continue
		}
		if b.unpaid {
			m.pay(ctx, b.question.key(b.question.generation), b.found, known.analyst)
		}
		for _, p := range b.pieces {
			if p.unpaid {
				m.pay(ctx, p.question.key(p.question.generation), p.found, known.analyst)
			}
		}
	}
}

func (m *Memory) pay(ctx context.Context, key answers.Key, r *answers.Release, analyst Analyst) {
	if err := m.store.Pay(ctx, key, r, analyst.Name); err != nil {
		m.log.Warn("a payment is not remembered", "cause", err)
	}
}
