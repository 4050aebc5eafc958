package cashier

import (
	"context"
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// A Bill is the most that a statement releases, and who pays for it.
type Bill struct {
	Analyst string
	Shape   string // of the statement, for incidents
	Scopes  []accountant.Scope
	// Tables are those that the statement reads.
	Tables []accountant.Table
	Event  dp.ComposedEvent
	// Owed was released before, and not paid by the analyst: it debits their own budget alone.
	Owed dp.ComposedEvent
	// Rounds says that the statement is paid round by round.
	Rounds bool
	// Question is a digest of the question and of who asks: a charge of which nothing was drawn counts for it.
	Question string
	// Prepaid is the amount that was paid before for the question.
	Prepaid accountant.Prepaid
	// Untold are the tables whose budgets no text for the analyst may name.
	Untold planner.Untold
}

// events are the ones that a scope pays for.
func (b Bill) events(s accountant.Scope) dp.ComposedEvent { return b.debited(b.Event, b.Owed, s) }

// debited are the events of a release, and of the analyst's debts, that a scope pays for.
func (Bill) debited(event, owed dp.ComposedEvent, s accountant.Scope) dp.ComposedEvent {
	if s.Kind != accountant.AnalystScope || len(owed) == 0 {
		return event
	}
	return append(slices.Clip(event), owed...)
}

// Debits prices a bill in the measure of each budget that it touches. Its errors are
// BudgetExhausted, of a budget that there is not, and Imprecise, of a price that is not finite.
func (c *Cashier) Debits(b Bill) ([]accountant.Debit, error) {
	var out []accountant.Debit
	for _, s := range b.Scopes {
		event := b.events(s)
		if len(event) == 0 {
			continue
		}
		measure, ok := c.measure(s)
		if !ok {
			return nil, pgerr.New(pgerr.BudgetExhausted, "there is no budget for %s", s)
		}
		loss, err := c.prices.price(event, measure)
		if err != nil {
			return nil, pgerr.New(pgerr.Imprecise, "the mechanism has no finite cost in the budget of %s:%s", s.Kind,
				c.Told(s, b.Untold)).
				WithHint("SET dp.mechanism = laplace.")
		}
		out = append(out, accountant.Debit{Scope: s, Loss: loss})
	}
	return out, nil
}

// Covered refuses bills that would not be reserved, one after the other, as the ledger is now: the protected database
// then hears nothing of the statement. How long it takes to plan one would be told, often, at no
// cost.
func (c *Cashier) Covered(ctx context.Context, bills ...Bill) error {
	var debits []accountant.Debit
	for _, b := range bills {
		own, err := c.Debits(b)
		if err != nil {
			return err
		}
		if err := c.ledger.Admit(ctx, b.Analyst, b.Shape); err != nil {
			return err
		}
		if own, err = b.due(own); err != nil {
			return err
		}
		if debits, err = together(debits, own); err != nil {
			return err
		}
	}
	if len(debits) == 0 {
		return nil
	}
	balances, err := c.ledger.Balances(ctx, scopesOf(debits)...)
	if err != nil {
		return err
	}
	for i, b := range balances {
		switch left := b.Remaining(); {
		case b.Frozen:
			return accountant.ErrFrozen
		case !debits[i].Loss.Fits(left):
			return &accountant.InsufficientError{Scope: c.Current(b.Scope), Requested: debits[i].Loss, Remaining: left}
		}
	}
	return nil
}

// together adds debits to others, each budget once.
func together(debits, more []accountant.Debit) ([]accountant.Debit, error) {
	for _, d := range more {
		i := slices.IndexFunc(debits, func(e accountant.Debit) bool { return e.Scope == d.Scope })
		if i < 0 {
			debits = append(debits, d)
			continue
		}
		var err error
		if debits[i].Loss, err = debits[i].Loss.Plus(d.Loss); err != nil {
			return nil, err
		}
	}
	return debits, nil
}

// Left returns the price, in 10⁻¹² of ρ, for which every budget of a bill of zCDP has room beside
// the analyst's debts, and whether all of the bill fits. A ledger that does not say leaves that
// to the reservation: it fits.
func (c *Cashier) Left(ctx context.Context, b Bill) (pico int64, fits bool) {
	debits, err := c.Debits(b)
	if err != nil {
		return 0, true // a reason that the reservation tells
	}
	pico, fits = dp.MaxPico, true
	for _, d := range debits {
		balance, err := c.balance(ctx, d.Scope)
		if err != nil {
			return 0, true
		}
		room := balance.Remaining()
		fits = fits && d.Loss.Fits(room)
		free := room.Pico()
		if d.Scope.Kind == accountant.AnalystScope && len(b.Owed) > 0 {
			loss, err := c.prices.price(b.Owed, dp.ZCDP)
			if err != nil {
				return 0, true
			}
			free -= loss.Pico()
		}
		pico = min(pico, free)
	}
	return pico, fits
}

// Costs lists the debits of bills that are paid one after the other, each budget once, and the rest that all would leave.
func (c *Cashier) Costs(ctx context.Context, bills ...Bill) ([]planner.Cost, error) {
	var debits []accountant.Debit
	untold := map[accountant.Scope]planner.Untold{}
	for _, b := range bills {
		own, err := c.Debits(b)
		if err != nil {
			return nil, err
		}
		if own, err = b.due(own); err != nil {
			return nil, err
		}
		for _, d := range own {
			untold[d.Scope] = b.Untold
		}
		if debits, err = together(debits, own); err != nil {
			return nil, err
		}
	}
	var costs []planner.Cost
	for _, d := range debits {
		balance, err := c.balance(ctx, d.Scope)
		if err != nil {
			return nil, err
		}
		left := balance.Remaining()
		cost := planner.Cost{Loss: d.Loss, Remaining: left, Fits: d.Loss.Fits(left), Limit: balance.Limit}
		cost.Scope = fmt.Sprintf("%s %s", d.Scope.Kind, c.Told(d.Scope, untold[d.Scope]))
		cost.Of = budgetOf(d.Scope, cost.Scope)
		if after, err := left.Minus(d.Loss); err == nil {
			cost.Remaining = after
		}
		costs = append(costs, cost)
	}
	return costs, nil
}

// balance returns the balance of one budget.
func (c *Cashier) balance(ctx context.Context, s accountant.Scope) (accountant.Balance, error) {
	balances, err := c.ledger.Balances(ctx, s)
	if err == nil && len(balances) != 1 {
		err = accountant.ErrUnavailable
	}
	if err != nil {
		return accountant.Balance{}, err
	}
	return balances[0], nil
}

func scopesOf(debits []accountant.Debit) []accountant.Scope {
	scopes := make([]accountant.Scope, len(debits))
	for i, d := range debits {
		scopes[i] = d.Scope
	}
	return scopes
}
