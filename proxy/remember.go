package proxy

import (
	"context"
	"math/big"

	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/planner"
)

// Answers are what a Proxy remembers answers in, and for how long they answer the
// same question.
type Answers struct {
	Store answers.Store // nil: nothing is remembered
	// Version covers the policy, the schema and the secret.
	Version []byte
	// Epoch names the data: an answer is of one epoch.
	Epoch func() string
}

// Close closes the store, if there is one.
func (a Answers) Close() error {
	if a.Store == nil {
		return nil
	}
	return a.Store.Close()
}

// known are the answers that were released before, by block.
type known struct {
	keys    []answers.Key
	answers []*answers.Answer // nil where there is none
	owed    dp.ComposedEvent  // what the analyst has not paid for
	unpaid  []int             // the blocks of it
}

// recall looks for answers that were given before to the blocks of a plan. A store
// that fails knows none.
func (a *answer) recall(ctx context.Context, plan *planner.Plan, values []planner.Value) *known {
	k := &known{keys: make([]answers.Key, len(plan.Blocks)), answers: make([]*answers.Answer, len(plan.Blocks))}
	cfg := a.p.cfg.Answers
	if cfg.Store == nil {
		return k
	}
	epoch := cfg.Epoch()
	for i, b := range plan.Blocks {
		if b.SQL == "" {
			continue
		}
		k.keys[i] = answers.KeyOf(append([][]byte{cfg.Version, []byte(epoch)}, b.Question(values)...)...)
		found, err := cfg.Store.Get(ctx, k.keys[i])
		if err != nil {
			a.p.cfg.Log.Warn("an answer is forgotten", "cause", err)
		}
		if found == nil || !fits(found.Rows, b) {
			continue
		}
		k.answers[i] = found
		if !found.PaidBy(a.analyst) {
			k.owed = append(k.owed, b.Event()...)
			k.unpaid = append(k.unpaid, i)
		}
	}
	return k
}

// fits reports whether rows are an answer to the block.
func fits(rows [][]*big.Int, b *planner.BlockPlan) bool {
	for _, row := range rows {
		if len(row) != len(b.Mechanisms) {
			return false
		}
	}
	return len(rows) == b.Size()
}

// blocks reports which blocks are known.
func (k *known) blocks() []bool {
	is := make([]bool, len(k.answers))
	for i, a := range k.answers {
		is[i] = a != nil
	}
	return is
}

// rows returns the rows of the blocks that are known, and nil for the others.
func (k *known) rows() [][][]*big.Int {
	rows := make([][][]*big.Int, len(k.answers))
	for i, a := range k.answers {
		if a != nil {
			rows[i] = a.Rows
		}
	}
	return rows
}

// remember keeps what was released, and that the analyst has paid for it. What
// fails costs budget when the question comes again, no more.
func (a *answer) remember(ctx context.Context, rest *planner.Plan, k *known, noisy [][][]*big.Int) {
	store := a.p.cfg.Answers.Store
	if store == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	for i, b := range rest.Blocks {
		if b.SQL == "" {
			continue
		}
		if err := store.Put(ctx, k.keys[i], answers.Answer{Rows: noisy[i], Paid: []string{a.analyst}}); err != nil {
			a.p.cfg.Log.Warn("an answer is not remembered", "cause", err)
		}
	}
}

// paid notes that the analyst has paid for what others had asked before.
func (a *answer) paid(ctx context.Context, k *known) {
	for _, i := range k.unpaid {
		if err := a.p.cfg.Answers.Store.Pay(ctx, k.keys[i], k.answers[i], a.analyst); err != nil {
			a.p.cfg.Log.Warn("a payment is not remembered", "cause", err)
		}
	}
}
