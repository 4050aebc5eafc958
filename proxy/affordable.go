package proxy

import (
	"context"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner"
)

// leastUseful is the part of what a chain may spend that must be left for it to begin: with
// less, its error is more than ten times as large.
const leastUseful = 100

// affordable plans the statement. Where only the policy says what a chain may spend, and
// less is left, it may spend that. It reads and charges nothing.
func (a *answer) affordable(ctx context.Context, analysed *analysed, pre *prelude) (*planner.Plan, error) {
	plan, err := a.plan(analysed, pre)
	if err != nil || plan.Chained() != dp.ZCDP || pre.settings.Capped {
		return plan, err
	}
	if _, fits := a.left(ctx, plan, nil); fits {
		return plan, nil
	}
	known := a.recallChains(ctx, plan, pre).known
	rest := plan.Rest(known.blocks())
	if !rest.Reads() {
		return plan, nil
	}
	left, fits := a.left(ctx, rest, known.owed)
	most, err := a.p.prices.price(rest.Event, dp.ZCDP)
	if err != nil {
		return nil, err
	}
	if fits || left < most.Pico()/leastUseful {
		return plan, nil // the ledger refuses what does not fit
	}
	lessened := *pre
	lessened.leftPico = left
	if smaller, err := a.plan(analysed, &lessened); err == nil {
		return smaller, nil
	}
	return plan, nil
}

// left returns what a plan of zCDP may spend, in 10⁻¹² of ρ, so that every budget has room for
// it and for what the analyst owes, and whether all that it may cost fits.
func (a *answer) left(ctx context.Context, plan *planner.Plan, owed dp.ComposedEvent) (pico int64, fits bool) {
	debits, err := a.debits(plan, owed)
	if err != nil {
		return 0, true // a reason that the charge tells
	}
	pico, fits = dp.MaxPico, true
	for _, d := range debits {
		balances, err := a.p.cfg.Ledger.Balances(ctx, d.Scope)
		if err != nil || len(balances) != 1 {
			return 0, true
		}
		room := balances[0].Remaining()
		fits = fits && d.Loss.Fits(room)
		free := room.Pico()
		if d.Scope.Kind == accountant.AnalystScope && len(owed) > 0 {
			loss, err := a.p.prices.price(owed, dp.ZCDP)
			if err != nil {
				return 0, true
			}
			free -= loss.Pico()
		}
		pico = min(pico, free)
	}
	return pico, fits
}
