package cashier

import (
	"context"
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// credit is the amount that was paid before for the question of a bill, and pays for it first.
type credit map[accountant.Scope]dp.Loss

func creditOf(p accountant.Prepaid) credit {
	c := credit{}
	for _, d := range p.Debits {
		c[d.Scope] = d.Loss
	}
	return c
}

// take returns the part of a loss that the credit does not pay, and uses up the part that it does.
func (c credit) take(s accountant.Scope, loss dp.Loss) (rest dp.Loss, err error) {
	have, ok := c[s]
	if !ok || have.Measure() != loss.Measure() {
		return loss, nil
	}
	used, err := dp.NewLoss(loss.Measure(), min(have.Pico(), loss.Pico()), min(have.Atto(), loss.Atto()))
	if err != nil {
		return loss, err
	}
	if c[s], err = have.Minus(used); err != nil {
		return loss, err
	}
	return loss.Minus(used)
}

// due returns the debits of a bill less the prepaid amount, for the same budgets.
func (b Bill) due(debits []accountant.Debit) ([]accountant.Debit, error) {
	due, c := slices.Clone(debits), creditOf(b.Prepaid)
	for i, d := range due {
		rest, err := c.take(d.Scope, d.Loss)
		if err != nil {
			return nil, err
		}
		due[i].Loss = rest
	}
	return due, nil
}

// charged leaves out debits of nothing where something is prepaid: with that the ledger takes a
// charge that debits nothing.
func (b Bill) charged(due []accountant.Debit) []accountant.Debit {
	if b.Prepaid.Charge == 0 {
		return due
	}
	return slices.DeleteFunc(slices.Clone(due), func(d accountant.Debit) bool { return d.Loss.IsZero() })
}

// Prepay adds to a bill the amount that is prepaid for its question. A ledger that does not say leaves it to the
// reservation to fail.
func (c *Cashier) Prepay(ctx context.Context, b *Bill) {
	if found, err := c.ledger.Prepaid(ctx, b.Question); err == nil && b.Question != "" {
		b.Prepaid = found
	}
}

// Unanswered records that nothing was drawn for the payment, and nothing will be: the same question may be asked
// for it again. It settles the payment.
func (p *Payment) Unanswered(ctx context.Context) error {
	return p.cashier.ledger.Unanswered(context.WithoutCancel(ctx), p.ID)
}

// IsPrepaid reports whether an earlier charge pays for the payment, at least in part.
func (p *Payment) IsPrepaid() bool { return p.bill.Prepaid.Charge != 0 }
