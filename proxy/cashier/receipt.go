package cashier

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner"
)

// A Receipt is a charge that was recorded. The nil Receipt is that of a statement that cost
// nothing.
type Receipt struct {
	ID     accountant.ChargeID
	Debits []accountant.Debit
	Rounds int      // of noise reduction; 0 without it
	Notes  []string // further remarks for the analyst
}

// Note adds a remark.
func (r *Receipt) Note(remarks ...string) {
	if r != nil {
		r.Notes = append(r.Notes, remarks...)
	}
}

// Sum is the receipt of several charges, nil if nothing was charged. It has no identifier.
func Sum(all ...*Receipt) *Receipt {
	var sum *Receipt
	for _, r := range all {
		switch {
		case r == nil:
		case sum == nil:
			own := *r
			own.Debits, sum = slices.Clone(r.Debits), &own
		default:
			debits, err := together(sum.Debits, r.Debits)
			if err != nil {
				return r // of losses that cannot be added the last one
			}
			sum.Debits, sum.Rounds, sum.Notes = debits, sum.Rounds+r.Rounds, append(slices.Clip(sum.Notes), r.Notes...)
		}
	}
	return sum
}

// Remarks are further remarks for the analyst, each behind a semicolon.
func (r *Receipt) Remarks() string {
	if r == nil {
		return ""
	}
	return strings.Join(append([]string{""}, r.Notes...), "; ")
}

// Remaining is the rest of the budget that will be exhausted first by more of the same, as a part of it and as a loss; empty where the
// ledger does not say.
func (c *Cashier) Remaining(ctx context.Context, r *Receipt, untold planner.Untold) string {
	scope, _, fewest := c.scarcest(ctx, r)
	if fewest < 0 || scope.Limit.Pico() == 0 {
		return ""
	}
	of := budgetOf(scope.Scope, fmt.Sprintf("%s %s", scope.Scope.Kind, c.Told(scope.Scope, untold)))
	return fmt.Sprintf("%s %% of %s (%s), %s", lessOf(scope.Remaining(), scope.Limit), of, brief(scope.Remaining()), suchQuestions(fewest))
}

// scarcest returns the budget that will be exhausted first by more of the same, the charge to it, and how often that still fits; −1 if the
// ledger does not say, or nothing was charged.
func (c *Cashier) scarcest(ctx context.Context, r *Receipt) (scope accountant.Balance, loss dp.Loss, fewest int64) {
	if r == nil {
		return scope, loss, -1
	}
	left, err := c.ledger.Balances(context.WithoutCancel(ctx), scopesOf(r.Debits)...)
	if err != nil {
		return scope, loss, -1
	}
	fewest = -1
	for i, b := range left {
		n := more(b, r.Debits[i].Loss)
		if fewest < 0 || n < fewest || n == fewest && b.Remaining().Pico() < scope.Remaining().Pico() {
			scope, loss, fewest = b, r.Debits[i].Loss, n
		}
	}
	return scope, loss, fewest
}

// brief writes a loss for people: its main parameter with four digits.
func brief(l dp.Loss) string {
	return l.Measure().Symbol() + "=" + planner.Number(float64(l.Pico())/dp.PicoPerUnit)
}

// more returns how often the loss fits the rest of a budget.
func more(b accountant.Balance, loss dp.Loss) int64 {
	if loss.Pico() == 0 {
		return 0
	}
	return b.Remaining().Pico() / loss.Pico()
}
