package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/memory"
	"dpproxy/proxy/release"
)

// maxRounds bounds the rounds of a statement: each is an entry in the ledger.
const maxRounds = 100

// behindVeil draws the release, and returns at the statement's point of the grid.
//
// A cancel request does not shorten the wait for it, and is then the reply: else it would tell
// whether the read was over when it came. The answer is paid for, and remembered.
func (e *execution) behindVeil(ctx context.Context, plan *planner.Plan, pre *prelude) ([][]*planner.Released, error) {
	v := &veil{grid: e.p.cfg.Grid}
	defer v.lift() // also in a panic
	released, receipt, err := e.draw(ctx, plan, pre, v)
	if err == nil && !e.part.quiet() {
		v.then(func() {
			last := newAccount(e.text.stmt.Text, plan, released, receipt, pre.settings.Confidence)
			if e.p.cfg.Now != nil {
				at := e.p.cfg.Now()
				last.at = &at
			}
			e.p.history.add(e.analyst, last)
			stateOf(e.session).last = last
		})
	}
	e.enter(stepLeave)
	v.lift()
	if err == nil && ctx.Err() != nil {
		err = canceled(receipt)
	}
	return released, err
}

// draw returns the released relation of each grouping set of each block: the known ones, and the others
// after they were reserved, read and given their noise. With an error behind the charge it
// returns the receipt.
func (e *execution) draw(ctx context.Context, plan *planner.Plan, pre *prelude, v *veil) ([][]*planner.Released, *cashier.Receipt, error) {
	known := e.recall(ctx, plan, pre)
	rest := plan.Rest(known.Known())
	d := &drawing{
		execution: e, plan: rest, pre: pre, veil: v, known: known, payment: &cashier.Payment{},
		bill: e.prepaid(ctx, e.bill(rest, known.Owed), rest, known, pre),
		run:  release.New(rest, known.Before, e.p.cashier.Price, e.p.cfg.Source),
	}
	agreed, err := d.wanted(ctx)
	if err != nil {
		return nil, nil, err
	}
	v.then(func() {
		if agreed != nil && d.payment.Receipt == nil {
			e.p.consents.show(e.analyst, pre.asked, agreed)
		}
	})
	if !rest.Reads() {
		v.fall()
		err = d.reserve(ctx)
		return known.Released, d.payment.Receipt, err
	}
	if err := d.draw(ctx); err != nil {
		return nil, d.payment.Receipt, err
	}
	released := known.Released
	for i := range released {
		if released[i] == nil {
			released[i] = d.run.Released(i)
		}
	}
	v.then(func() {
		e.enter(stepRemember)
		e.p.memory.Remember(ctx, rest, known, d.run.Kept)
	})
	return released, d.payment.Receipt, nil
}

// A drawing reads the blocks that are not known and releases them, round by round. Its cost is reserved before
// anything is read; each round is charged, durably, before it is drawn; and the rest is given back
// in the end. Most statements have one round, whose reservation is its charge. Values leave only in
// the end, so that whoever goes away, cancels, or makes a round fail has paid for all
// that was drawn and has seen nothing.
type drawing struct {
	*execution

	plan    *planner.Plan // of the blocks that are not known
	pre     *prelude
	veil    *veil
	known   *memory.Recalled
	bill    cashier.Bill
	payment *cashier.Payment
	run     *release.Run
	began   uint64 // when the session for the read was taken, in moments of [incidents]
	watch   *watch
}

// draw reserves, reads, and releases until every grouping set has ended.
func (d *drawing) draw(ctx context.Context) error {
	if err := d.p.cashier.Covered(ctx, d.bill); err != nil {
		return reserveError(d.bill, err)
	}
	reading, err := d.open(ctx)
	if err != nil {
		return err
	}
	if err := d.reserve(ctx); err != nil {
		return err
	}
	d.beginWatch(ctx)
	exacts, err := d.read(ctx, reading)
	if err != nil {
		return err
	}
	d.enter(stepRelease)
	if err := d.run.Begin(exacts); err != nil {
		return defectiveRound()
	}
	if err := d.rounds(ctx); err != nil {
		return err
	}
	d.watch.through()
	d.veil.then(func() { d.p.incidents.answered(d.analyst, d.bill.Question) })
	return nil
}

// reserve records the most that the statement may cost, and pays for its first round, and for the
// analyst's debts, out of it.
func (d *drawing) reserve(ctx context.Context) error {
	d.enter(stepReserve)
	payment, err := d.p.cashier.Reserve(ctx, d.bill)
	if err != nil {
		return reserveError(d.bill, err)
	}
	d.payment, d.veil.paid = payment, true
	if payment.IsPrepaid() {
		d.payment.Note("paid when its read was interrupted")
	}
	if d.bill.Rounds {
		d.remark()
	}
	d.veil.then(func() {
		d.enter(stepSettle)
		d.settle(ctx)
	})
	first, err := d.run.First()
	if err != nil {
		return defectiveRound()
	}
	switch err := payment.Round(ctx, first, d.known.Owed); {
	case errors.Is(err, cashier.ErrRound):
		return defectiveRound()
	case err != nil:
		return chargeError(err)
	}
	d.p.memory.Pay(ctx, d.known)
	return nil
}

// settle gives back what no round has cost. A statement that was interrupted is owed an answer: its cost
// counts for the same question.
func (d *drawing) settle(ctx context.Context) {
	if d.watch == nil || d.watch.outcome != unanswered {
		d.payment.Settle(ctx)
		return
	}
	if err := d.payment.Unanswered(ctx); err != nil {
		d.p.cfg.Log.Error("an interrupted statement is not prepaid", "analyst", d.analyst, "error", err)
	}
}

// remark adds notes on noise reduction for the analyst.
func (d *drawing) remark() {
	d.payment.Note(d.known.Notes...)
	zcdp := func(d accountant.Debit) bool { return d.Loss.Measure() == dp.ZCDP }
	if d.plan.Reduces() == dp.PureDP && slices.ContainsFunc(d.payment.Debits, zcdp) {
		d.payment.Note("budgets of zCDP have paid for the whole path at its first look")
	}
	if d.plan.CappedByRemaining() {
		d.payment.Note("it could spend only what is left")
	}
}

// rounds takes rounds until no grouping set needs one more: whoever cancels meanwhile does not stop
// them. They begin at a point of the grid. When they are paid, and when the last of them ends, then
// tells of the read no more than that point and their releases. No failure behind
// through depends on a row.
func (d *drawing) rounds(ctx context.Context) error {
	for round := 1; round < maxRounds; round++ {
		events, err := d.run.Next()
		switch {
		case err != nil:
			return defectiveRound()
		case len(events) == 0:
			d.conclude("what the statement may spend")
			return nil
		case round == 1:
			d.veil.pause()
		}
		if err := d.payment.Round(ctx, events, nil); err != nil {
			d.watch.through()
			return unpaidRound(err)
		}
		d.payment.Rounds++
		if err := d.run.Draw(); err != nil {
			return defectiveRound()
		}
	}
	d.conclude(fmt.Sprintf("%d looks, the most that a statement takes", maxRounds))
	return nil
}

// conclude notes where the target was not reached.
func (d *drawing) conclude(within string) {
	open, all := d.run.Open()
	if open == 0 {
		return
	}
	where := ""
	if all > 1 {
		where = fmt.Sprintf(" in %d of %d groups", open, all)
	}
	d.payment.Note("the error asked for was not reached" + where + " within " + within)
}
