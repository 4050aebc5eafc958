package proxy

import (
	"context"
	"slices"
	"strconv"

	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/planner/scalar"
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
	// released is what the answers say, by block and part.
	released [][]*planner.Released
	owed     dp.ComposedEvent // what the analyst has not paid for
	unpaid   []int            // the blocks of it
}

// recall looks for answers that were given before to the blocks of a plan. A store
// that fails knows none.
func (a *answer) recall(ctx context.Context, plan *planner.Plan, values []scalar.Value) *known {
	k := &known{keys: make([]answers.Key, len(plan.Blocks)), answers: make([]*answers.Answer, len(plan.Blocks)), released: make([][]*planner.Released, len(plan.Blocks))}
	cfg := a.p.cfg.Answers
	if cfg.Store == nil {
		return k
	}
	epoch := cfg.Epoch()
	for i, b := range plan.Blocks {
		if !b.Reads() {
			continue
		}
		k.keys[i] = answers.KeyOf(append([][]byte{cfg.Version, []byte(epoch)}, b.Question(values)...)...)
		found, err := cfg.Store.Get(ctx, k.keys[i])
		if err != nil {
			a.p.cfg.Log.Warn("an answer is forgotten", "cause", err)
		}
		if found == nil {
			continue
		}
		if k.released[i] = unpack(found, b); k.released[i] == nil {
			continue
		}
		k.answers[i] = found
		if a.owes(found) {
			k.owed = append(k.owed, b.Event()...)
			k.unpaid = append(k.unpaid, i)
		}
	}
	return k
}

// payers are those who pay for an answer with a budget of their own: who has none, and gets one
// later, has not paid with it for what he asked before.
func (a *answer) payers() []string {
	if !a.p.analyst(a.analyst).Budget {
		return nil
	}
	return []string{a.analyst}
}

// owes reports whether the analyst has a budget with which he has not paid for an answer.
func (a *answer) owes(found *answers.Answer) bool {
	return len(a.payers()) > 0 && !found.PaidBy(a.analyst)
}

// pack writes what was released of a block as one answer: the rows of all its parts, and,
// if a part has private keys, for each row the number of its part and the part's keys.
func pack(released []*planner.Released) answers.Answer {
	var a answers.Answer
	private := slices.ContainsFunc(released, func(r *planner.Released) bool { return r.Keys != nil })
	for i, r := range released {
		part := strconv.Itoa(i)
		for row := range r.Rows {
			a.Rows = append(a.Rows, r.Rows[row])
			if !private {
				continue
			}
			keys := []*string{&part}
			if r.Keys != nil {
				keys = append(keys, r.Keys[row]...)
			}
			a.Keys = append(a.Keys, keys)
		}
	}
	return a
}

// unpack is the inverse of pack, or nil if the answer is none to the block.
func unpack(a *answers.Answer, b *planner.BlockPlan) []*planner.Released {
	out := make([]*planner.Released, len(b.Parts))
	rows, keys := a.Rows, a.Keys
	for i, p := range b.Parts {
		n := p.Size()
		if p.Private() {
			part := strconv.Itoa(i)
			for n = 0; n < len(keys) && len(keys[n]) == p.Keys()+1 && keys[n][0] != nil && *keys[n][0] == part; n++ {
			}
		}
		if n > len(rows) {
			return nil
		}
		out[i] = &planner.Released{Rows: rows[:n]}
		if p.Private() {
			out[i].Keys = [][]*string{}
			for _, k := range keys[:n] {
				out[i].Keys = append(out[i].Keys, k[1:])
			}
		}
		if keys != nil {
			keys = keys[min(n, len(keys)):]
		}
		rows = rows[n:]
		for _, row := range out[i].Rows {
			if len(row) != len(p.Mechanisms) {
				return nil
			}
		}
	}
	if len(rows) > 0 {
		return nil
	}
	return out
}

// blocks reports which blocks are known.
func (k *known) blocks() []bool {
	is := make([]bool, len(k.answers))
	for i, a := range k.answers {
		is[i] = a != nil
	}
	return is
}

// remember keeps what was released, and that the analyst has paid for it. What
// fails costs budget when the question comes again, no more.
func (a *answer) remember(ctx context.Context, rest *planner.Plan, k *known, released [][]*planner.Released) {
	store := a.p.cfg.Answers.Store
	if store == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	for i, b := range rest.Blocks {
		if !b.Reads() {
			continue
		}
		answer := pack(released[i])
		answer.Paid = a.payers()
		if err := store.Put(ctx, k.keys[i], answer); err != nil {
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
