package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/flight"
	"dpproxy/proxy/memory"
	"dpproxy/proxy/reader"
	"dpproxy/proxy/release"
)

// maxRounds bounds the rounds of a statement: each is an entry in the ledger.
const maxRounds = 100

// errAgain says that another statement has drawn the same, or does not any more: look again for a remembered answer.
var errAgain = errors.New("proxy: another statement drew the same")

// behindVeil draws the release, and returns at the statement's point of the grid. It returns errAgain
// when it has waited for another statement that drew the same.
//
// A cancel request does not shorten the wait for the point, and is then the reply: else it would tell
// whether the read was over when it came. The answer is paid for, and remembered.
func (e *execution) behindVeil(
	ctx, patience context.Context, plan *planner.Plan, pre *prelude,
) (released [][]*planner.Released, err error) {
	d := e.newDrawing(ctx, plan, pre)
	agreed, err := d.wanted(ctx)
	if err != nil {
		return nil, err
	}
	d.veil.then(func() {
		if agreed != nil && d.payment.Receipt == nil {
			e.p.consents.show(e.analyst, pre.asked, agreed)
		}
	})
	switch {
	case !d.plan.Reads():
		err = d.free(ctx)
	default:
		err = d.draw(ctx, patience)
	}
	if err != nil {
		return nil, err
	}
	if d.last != nil {
		setLast(e.session, d.last)
	}
	if ctx.Err() != nil {
		return nil, d.stopped(context.Canceled)
	}
	return d.released, nil
}

// newDrawing looks for releases of a plan's blocks.
func (e *execution) newDrawing(ctx context.Context, plan *planner.Plan, pre *prelude) *drawing {
	known := e.recall(ctx, plan, pre)
	rest := plan.Rest(known.Left())
	return &drawing{
		execution: e, whole: plan, plan: rest, pre: pre, veil: &veil{grid: e.p.cfg.Grid}, known: known, payment: &cashier.Payment{},
		bill: e.prepaid(ctx, e.bill(rest, known.Owed), rest, known, pre),
		run:  release.New(rest, known.Before, e.p.cashier.Price, e.p.cfg.Source),
		keys: known.Drawn(rest), released: known.Released,
	}
}

// A drawing reads the blocks that are not known and releases them, round by round. Its cost is reserved before
// anything is read; each round is charged, durably, before it is drawn; and the rest is given back
// in the end. Most statements have one round, whose reservation is its charge. Values leave only in
// the end, so that whoever goes away, cancels, or makes a round fail has paid for all
// that was drawn and has seen nothing.
type drawing struct {
	*execution

	whole   *planner.Plan
	plan    *planner.Plan // of the blocks that are not known
	pre     *prelude
	veil    *veil
	known   *memory.Recalled
	bill    cashier.Bill
	payment *cashier.Payment
	run     *release.Run
	began   uint64 // when the session for the read was taken, in moments of [incidents]
	watch   *watch
	keys    []answers.Key // under which the releases will be remembered
	flight  *flight.Flight
	claimed answers.Claim // nil: no other process is kept from drawing the same

	released [][]*planner.Released // of each grouping set of each block
	last     *account              // nil unless it was answered, and may be told
}

// free answers a statement of which everything is known. It may be in debt.
func (d *drawing) free(ctx context.Context) error {
	defer d.leave() // also in a panic
	d.veil.fall()
	err := d.reserve(ctx)
	if err == nil {
		d.tell()
	}
	return err
}

// draw reserves, reads, and releases until every grouping set has ended. Up to the charge the end of its client is its end. From then
// on it goes its own way, and its client may leave it.
func (d *drawing) draw(ctx, patience context.Context) error {
	reading, other, err := d.begin(ctx)
	switch {
	case other != nil:
		return await(patience, d.p, other)
	case err != nil:
		return err
	}
	return d.attend(d.fly(ctx, reading))
}

// begin comes as far as the charge, unless another statement draws the same: it returns that. With an
// error all is revealed that has changed by then.
func (d *drawing) begin(ctx context.Context) (reading *reader.Reading, other waited, err error) {
	begun := false
	defer func() {
		if !begun { // also in a panic
			d.leave()
			d.land(ctx, err)
		}
	}()
	if f := d.p.flights.Find(d.keys); f != nil {
		return nil, f, nil
	}
	if err := d.p.cashier.Covered(ctx, d.bill); err != nil {
		return nil, nil, reserveError(d.bill, err)
	}
	if reading, err = d.open(ctx); err != nil {
		return nil, nil, err
	}
	d.veil.then(reading.Close)
	if other, err = d.claim(ctx); err != nil || other != nil {
		return nil, other, err
	}
	d.began = d.p.incidents.begin()
	d.veil.fall()
	if err := d.bind(ctx, reading); err != nil {
		return nil, nil, err
	}
	if err := d.veil.charge(ctx); err != nil {
		return nil, nil, err
	}
	if err := d.reserve(ctx); err != nil {
		return nil, nil, err
	}
	d.beginWatch(ctx)
	begun = true
	return reading, nil, nil
}

// release reads until reads ends, and releases until every grouping set has ended. It tells when the read is over.
func (d *drawing) release(ctx, reads context.Context, reading *reader.Reading, hasRead func()) error {
	exacts, err := d.read(reads, reading)
	hasRead()
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
	d.known.Complete(d.released, d.run.Released)
	d.veil.then(func() { d.p.incidents.answered(d.analyst, d.bill.Question) })
	d.veil.then(func() {
		d.enter(stepRemember)
		for i, earlier := range d.p.memory.Remember(ctx, d.plan, d.known, d.run.Kept) {
			if earlier != nil {
				d.released[i] = earlier
			}
		}
		d.whole.Share(d.released)
	})
	d.tell()
	return nil
}

// tell notes the answer for the analyst, when the veil is lifted.
func (d *drawing) tell() {
	if d.part.quiet() {
		return
	}
	d.veil.then(func() {
		last := newAccount(d.text.stmt.Text, d.whole, d.released, d.payment.Receipt, d.pre.settings.Confidence)
		last.age(d.outdated(d.whole))
		last.asOf, last.aged = d.known.AsOf(), d.known.Aged
		if d.p.cfg.Now != nil {
			at := d.p.cfg.Now()
			if last.at = &at; !d.known.Any() {
				last.asOf = at
			}
		}
		d.p.history.add(d.analyst, last)
		d.last = last
	})
}

// leave waits for the point at which the reply leaves, and lifts the veil.
func (d *drawing) leave() {
	d.enter(stepLeave)
	d.veil.lift()
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
