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
	record, rounds, events := c.ledger.Charge, 0, texts(b.Event, b.Owed)
	if b.Rounds {
		record, rounds, events = c.ledger.Hold, 1, texts(b.Event)
	}
	id, err := record(context.WithoutCancel(ctx), accountant.Charge{Analyst: b.Analyst, Shape: b.Shape, Events: events, Debits: debits})
	if err != nil {
		return nil, err
	}
	p.Receipt = &Receipt{ID: id, Debits: slices.Clone(debits), Rounds: rounds}
	if b.Rounds {
		for i, d := range debits {
			p.Debits[i].Loss = dp.Zero(d.Loss.Measure())
		}
	}
	return p, nil
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
		debits = append(debits, accountant.Debit{Scope: total.Scope, Loss: loss})
		if p.Debits[i].Loss, err = total.Loss.Plus(loss); err != nil {
			return fmt.Errorf("%w: %w", ErrRound, err)
		}
	}
	if len(debits) == 0 {
		return nil // levels in zCDP, of which the first has paid for all
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
