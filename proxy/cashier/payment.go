package cashier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// ErrRound is wrapped by the errors of a round that the reservation does not cover. It is a
// defect: a bill must cover all rounds.
var ErrRound = errors.New("cashier: the reservation does not cover the round")

// A Payment is the cost of one statement: reserved, paid round by round, and settled.
type Payment struct {
	// Receipt has the charges so far; nil for a statement that costs nothing.
	*Receipt

	cashier *Cashier
	bill    Bill
	credit  credit // the prepaid amount that no round has used
}

// Reserve records, durably, the most that a statement may cost: as a hold, of which each round
// takes its part, or, of a bill without rounds, as the charge itself. A client that gives up
// meanwhile does not stop it. A bill of nothing has no receipt, and needs a ledger that would
// have admitted it.
func (c *Cashier) Reserve(ctx context.Context, b Bill) (*Payment, error) {
	debits, err := c.Debits(b)
	if err != nil {
		return nil, err
	}
	p := &Payment{cashier: c, bill: b}
	if len(debits) == 0 {
		return p, c.ledger.Admit(ctx, b.Analyst, b.Shape)
	}
	id, err := c.record(ctx, b, debits)
	if errors.Is(err, accountant.ErrNotPrepaid) { // another statement has used it
		p.bill.Prepaid = accountant.Prepaid{}
		id, err = c.record(ctx, p.bill, debits)
	}
	if err != nil {
		return nil, err
	}
	p.Receipt, p.credit = &Receipt{ID: id, Debits: slices.Clone(debits)}, creditOf(p.bill.Prepaid)
	if b.Rounds {
		p.Rounds = 1
		for i, d := range debits {
			p.Debits[i].Loss = dp.Zero(d.Loss.Measure())
		}
	}
	return p, nil
}

// record records a bill that costs so much, less the prepaid amount.
func (c *Cashier) record(ctx context.Context, b Bill, debits []accountant.Debit) (accountant.ChargeID, error) {
	due, err := b.due(debits)
	if err != nil {
		return 0, err
	}
	record, events := c.ledger.Charge, texts(b.Event, b.Owed)
	if b.Rounds {
		record, events = c.ledger.Hold, texts(b.Event)
	}
	charge := accountant.Charge{
		Analyst: b.Analyst, Shape: b.Shape, Events: events, Debits: b.charged(due), Question: b.Question, Prepaid: b.Prepaid,
	}
	if len(b.Event) > 0 {
		charge.Tables = b.Tables
	}
	id, err := record(context.WithoutCancel(ctx), charge)
	if errors.Is(err, accountant.ErrLeftOut) {
		return 0, errors.Join(err, c.Reload(context.WithoutCancel(ctx)))
	}
	return id, c.current(err)
}

// Round pays for a round, durably, and for the analyst's debts, out of the reservation. The
// reservation of a bill without rounds has paid already.
func (p *Payment) Round(ctx context.Context, event, owed dp.ComposedEvent) error {
	if !p.bill.Rounds {
		return nil
	}
	var debits []accountant.Debit
	for i, total := range p.Debits {
		loss, err := p.cashier.prices.price(p.bill.debited(event, owed, total.Scope), total.Loss.Measure())
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRound, err)
		}
		if loss.IsZero() {
			continue
		}
		if p.Debits[i].Loss, err = total.Loss.Plus(loss); err != nil {
			return fmt.Errorf("%w: %w", ErrRound, err)
		}
		if loss, err = p.credit.take(total.Scope, loss); err != nil {
			return fmt.Errorf("%w: %w", ErrRound, err)
		}
		if !loss.IsZero() {
			debits = append(debits, accountant.Debit{Scope: total.Scope, Loss: loss})
		}
	}
	if len(debits) == 0 {
		return nil // levels in zCDP, of which the first has paid for all, or prepaid
	}
	err := p.cashier.ledger.Step(context.WithoutCancel(ctx), p.ID, texts(event, owed), debits)
	if errors.Is(err, accountant.ErrNotHeld) {
		p.cashier.log.Error("a round costs more than its statement holds", "analyst", p.bill.Analyst, "shape", p.bill.Shape, "error", err)
		return fmt.Errorf("%w: %w", ErrRound, err)
	}
	return err
}

// Settle gives back the part that no round has cost. If that fails, it stays reserved.
func (p *Payment) Settle(ctx context.Context) {
	if !p.bill.Rounds || p.Receipt == nil {
		return
	}
	if err := p.cashier.ledger.Settle(context.WithoutCancel(ctx), p.ID); err != nil {
		p.cashier.log.Warn("a hold is not given back", "error", err)
	}
}

// texts writes events for the audit trail.
func texts(lists ...dp.ComposedEvent) []string {
	var out []string
	for _, events := range lists {
		for _, e := range events {
			out = append(out, fmt.Sprint(e))
		}
	}
	return out
}
