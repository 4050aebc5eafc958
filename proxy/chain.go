package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// This file holds the path of a statement that looks again and again until an error is
// reached. All that it may cost is held before anything is read; each look is charged,
// durably, before it is drawn; and what is left is given back in the end. Values leave
// only then, so that whoever goes away, cancels, or makes a step fail has paid for what was
// drawn and has seen nothing.

// mostLooks bounds the looks of a statement: each is an entry in the ledger.
const mostLooks = 100

// chains are the chains of one statement.
type chains struct {
	a       *answer
	plan    *planner.Plan // what is not known
	memory  *memory
	parts   []*chainPart
	hold    accountant.ChargeID
	receipt *receipt
	// through says that nothing that fails from here on depends on a row.
	through func()
	// tired says that the looks ended because there were so many.
	tired bool
}

// chainPart is one part of a block on its way.
type chainPart struct {
	block, index int
	part         *planner.Part
	look         looker // nil for a part that is released at once
	paidPico     int64  // of this read, in the measure of the chain
	released     *planner.Released
}

// A looker measures the integers of one part, look by look. It wraps exact values, and lets
// out estimates alone.
//
//sumtype:decl
type looker interface {
	looker()
	// first returns what the first look releases at most. Nothing has been read.
	first() (dp.ComposedEvent, error)
	// begin takes the partitions that are shown, and draws the first look.
	begin(keys [][]*string, partitions []*reader.Partition) error
	// next returns what another look releases, or nothing if there is none: the target is
	// met, or the pool is empty. It decides by what was released.
	next() (dp.ComposedEvent, error)
	// draw draws that look.
	draw() error
	// released returns what is known now.
	released() *planner.Released
}

func (*brownianLooks) looker()  {}
func (*reductionLooks) looker() {}

// chained answers a plan with chains, from memory where that is precise enough. With an error behind
// the first charge it returns the receipt.
func (a *answer) chained(ctx context.Context, plan *planner.Plan, pre *prelude, v *veil) ([][]*planner.Released, *receipt, error) {
	memory := a.recallChains(ctx, plan, pre)
	rest := plan.Rest(memory.known.blocks())
	if !rest.Reads() {
		receipt, err := a.owed(ctx, rest, memory.known, v)
		return memory.known.released, receipt, err
	}
	c := &chains{a: a, plan: rest, memory: memory}
	if err := c.prepare(); err != nil {
		return nil, nil, err
	}
	receipt, err := c.run(ctx, pre, v)
	if err != nil {
		return nil, receipt, err
	}
	released := memory.known.released
	for _, p := range c.parts {
		if released[p.block] == nil {
			released[p.block] = make([]*planner.Released, len(plan.Blocks[p.block].Parts))
		}
		released[p.block][p.index] = p.released
	}
	v.then(func() { a.rememberChains(ctx, c) })
	return released, receipt, nil
}

// prepare makes a looker for each part that is read.
func (c *chains) prepare() error {
	for i, b := range c.plan.Blocks {
		if !b.Reads() {
			continue
		}
		for j, part := range b.Parts {
			if len(part.Reads) == 0 {
				continue
			}
			p := &chainPart{block: i, index: j, part: part}
			var err error
			switch {
			case part.Chain == nil:
			case part.Chain.Independent():
				p.look = newBrownianLooks(part, c.memory.measured(i, j), c.a.p.cfg.Source)
			default:
				p.look, err = newReductionLooks(part, c.a.p.cfg.Source)
			}
			if err != nil {
				return err
			}
			c.parts = append(c.parts, p)
		}
	}
	return nil
}

// run holds, pays and reads, and then looks until every part has ended.
func (c *chains) run(ctx context.Context, pre *prelude, v *veil) (*receipt, error) {
	if err := c.a.covered(ctx, c.plan, c.memory.known.owed, holdError); err != nil {
		return nil, err
	}
	r, err := c.a.open(ctx, c.plan, pre, v)
	if err != nil {
		return nil, err
	}
	if err := c.reserve(ctx); err != nil {
		return nil, err
	}
	v.paid = true
	v.then(func() { c.settle(ctx) })
	if err := c.payFirst(ctx); err != nil {
		return c.receipt, err
	}
	c.through = c.a.watch(ctx, c.plan, v, c.receipt)
	exacts, err := c.a.read(ctx, r, pre, v, c.receipt)
	if err != nil {
		return c.receipt, err
	}
	for _, p := range c.parts {
		if err := p.begin(exacts[p.block][p.index], c); err != nil {
			return c.receipt, err
		}
	}
	if err := c.look(ctx, v); err != nil {
		return c.receipt, err
	}
	c.through()
	c.conclude()
	return c.receipt, nil
}

// begin draws the first look of a part, or all of a part without a chain.
func (p *chainPart) begin(e *reader.Exact, c *chains) error {
	src := c.a.p.cfg.Source
	if p.look == nil {
		p.released = e.Release(src)
		return nil
	}
	keys, partitions := e.Shown(src)
	if len(partitions) == 0 {
		p.released = p.part.Chain.Estimated(keys, nil)
		return nil
	}
	if err := p.look.begin(keys, partitions); err != nil {
		return internalChain(err)
	}
	p.released = p.look.released()
	return nil
}

// look takes looks until no part needs one more: whoever cancels meanwhile does not stop them.
// They begin at a point of the grid. When they are paid, and when the last of them ends, then
// tells of the read no more than that point and what they have released.
func (c *chains) look(ctx context.Context, v *veil) error {
	for c.receipt.looks < mostLooks {
		events, drawn, err := c.next()
		if err != nil {
			return internalChain(err)
		}
		if len(drawn) == 0 {
			return nil
		}
		if c.receipt.looks == 1 {
			v.pause()
		}
		if err := c.pay(ctx, events, nil); err != nil {
			c.through()
			return lookUnpaid(err)
		}
		c.receipt.looks++
		for _, p := range drawn {
			if err := p.look.draw(); err != nil {
				return internalChain(err)
			}
			p.released = p.look.released()
		}
	}
	c.tired = true
	return nil
}

// next returns what another look of all parts releases, and the parts that take it.
func (c *chains) next() (events dp.ComposedEvent, drawn []*chainPart, err error) {
	for _, p := range c.parts {
		if p.look == nil || len(p.released.Rows) == 0 {
			continue
		}
		e, err := p.look.next()
		if err != nil {
			return nil, nil, err
		}
		if len(e) > 0 {
			p.pays(c.a.p.prices, e)
			events, drawn = append(events, e...), append(drawn, p)
		}
	}
	return events, drawn, nil
}

// lookUnpaid says that a look could not be recorded. It is not drawn, and what was drawn
// before stays with us.
func lookUnpaid(err error) error {
	if own, ok := errors.AsType[*pgerr.Error](err); ok && own.Code == pgerr.Internal {
		return err
	}
	return pgerr.New(pgerr.LedgerUnavailable, "the privacy ledger is not available").WithDetail(chargeStays).
		WithHint("The administrator must look at the ledger.")
}

// internalChain is an error of a chain that cannot be: what was charged stays.
func internalChain(error) error {
	return pgerr.New(pgerr.Internal, "the chain of looks did not go on").WithDetail(chargeStays)
}

// pays notes what a look of the part costs in the measure of its chain.
func (p *chainPart) pays(prices *prices, e dp.ComposedEvent) {
	measure := dp.ZCDP
	if !p.part.Chain.Independent() {
		measure = dp.PureDP
	}
	if loss, err := prices.price(e, measure); err == nil {
		p.paidPico += loss.Pico()
	}
}

// reserve holds what the statement may cost at most.
func (c *chains) reserve(ctx context.Context) error {
	debits, err := c.a.debits(c.plan, c.memory.known.owed)
	if err != nil {
		return err
	}
	c.hold, err = c.a.p.cfg.Ledger.Hold(context.WithoutCancel(ctx), accountant.Charge{
		Analyst: c.a.analyst, Shape: c.plan.Shape, Events: texts(c.plan.Event), Debits: debits,
	})
	if err != nil {
		return holdError(err)
	}
	c.receipt = &receipt{id: c.hold, looks: 1, notes: c.memory.notes}
	if c.plan.Chained() == dp.PureDP && slices.ContainsFunc(debits, func(d accountant.Debit) bool { return d.Loss.Measure() == dp.ZCDP }) {
		c.receipt.notes = append(c.receipt.notes, "budgets of zCDP have paid for the whole path at its first look")
	}
	if c.plan.Lessened() {
		c.receipt.notes = append(c.receipt.notes, "it could spend only what is left")
	}
	for _, d := range debits {
		c.receipt.debits = append(c.receipt.debits, accountant.Debit{Scope: d.Scope, Loss: dp.Zero(d.Loss.Measure())})
	}
	return nil
}

// holdError tells why what a statement may cost could not be held.
func holdError(err error) error {
	if short, ok := errors.AsType[*accountant.InsufficientError](err); ok {
		return pgerr.New(pgerr.BudgetExhausted, "privacy budget of %s %q is too small for what the statement may cost", short.Scope.Kind, short.Scope.Name).
			WithDetail("The statement costs at most %s; %s is left.", short.Requested, short.Remaining).
			WithHint("Allow it less (SET dp.max_epsilon), or ask the administrator for budget. SELECT * FROM dp.budget shows what is left.")
	}
	return chargeError(err)
}

// payFirst pays for the first looks, for what is released at once, and for what the analyst
// owes.
func (c *chains) payFirst(ctx context.Context) error {
	var events dp.ComposedEvent
	for _, p := range c.parts {
		if p.part.Selection != nil {
			events = append(events, p.part.Selection.Event())
		}
		if p.look == nil {
			for _, m := range p.part.Mechanisms {
				events = append(events, m.Event())
			}
			continue
		}
		first, err := p.look.first()
		if err != nil {
			return internalChain(err)
		}
		p.pays(c.a.p.prices, first)
		events = append(events, first...)
	}
	if err := c.pay(ctx, events, c.memory.known.owed); err != nil {
		return err
	}
	c.a.paid(ctx, c.memory.known)
	return nil
}

// pay spends a part of what is held, durably.
func (c *chains) pay(ctx context.Context, events, owed dp.ComposedEvent) error {
	var debits []accountant.Debit
	for i, total := range c.receipt.debits {
		all := events
		if total.Scope.Kind == accountant.AnalystScope {
			all = append(slices.Clone(events), owed...)
		}
		loss, err := c.a.p.prices.price(all, total.Loss.Measure())
		if err != nil {
			return internalChain(err)
		}
		if loss.IsZero() {
			continue
		}
		debits = append(debits, accountant.Debit{Scope: total.Scope, Loss: loss})
		if c.receipt.debits[i].Loss, err = total.Loss.Plus(loss); err != nil {
			return internalChain(err)
		}
	}
	if len(debits) == 0 {
		return nil // a path in zCDP, which was paid for at once
	}
	err := c.a.p.cfg.Ledger.Step(context.WithoutCancel(ctx), c.hold, texts(append(slices.Clone(events), owed...)), debits)
	switch {
	case errors.Is(err, accountant.ErrNotHeld): // a defect of ours: what is held must cover all looks
		c.a.p.cfg.Log.Error("a look costs more than its statement holds", "analyst", c.a.analyst, "shape", c.plan.Shape, "error", err)
		return internalChain(err)
	case err != nil:
		return chargeError(err)
	}
	return nil
}

// settle gives back what no look has cost. If it fails, that stays held.
func (c *chains) settle(ctx context.Context) {
	if err := c.a.p.cfg.Ledger.Settle(context.WithoutCancel(ctx), c.hold); err != nil {
		c.a.p.cfg.Log.Warn("a hold is not given back", "error", err)
	}
}

// conclude notes where the target was not reached.
func (c *chains) conclude() {
	open, all := 0, 0
	for _, p := range c.parts {
		if p.look != nil {
			open, all = open+len(p.part.Chain.Open(p.released)), all+len(p.released.Rows)
		}
	}
	if open == 0 {
		return
	}
	where, within := "", "what the statement may spend"
	if all > 1 {
		where = fmt.Sprintf(" in %d of %d groups", open, all)
	}
	if c.tired {
		within = fmt.Sprintf("%d looks, the most that a statement takes", mostLooks)
	}
	c.receipt.notes = append(c.receipt.notes, "the error asked for was not reached"+where+" within "+within)
}

// texts writes events for the audit trail.
func texts(events dp.ComposedEvent) []string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprint(e))
	}
	return out
}
