package proxy

import (
	"context"
	"errors"
	"math"
	"strings"

	"dpproxy/dp"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// fittingSteps halve the logarithm of what a statement may spend.
const fittingSteps = 12

// leastFitting is the part of what a statement spends below which none is named: its error would be that many times as large.
const leastFitting = 1000

// fitting adds to the refusal of a statement that budgets have no room for the setting with which it fits what is left,
// and the error that it has then. It reads and charges nothing.
func (e *execution) fitting(ctx context.Context, analysed *analysed, pre *prelude, refused error) error {
	short, ok := errors.AsType[*pgerr.Error](refused)
	if !ok || short.Code != pgerr.BudgetExhausted || short.Detail == "" {
		return refused
	}
	plan, spent := e.fittingPlan(ctx, analysed, pre)
	if plan == nil {
		return refused
	}
	set := "SET dp.epsilon = "
	if pre.settings.Target != (planner.Target{}) && plan.Reduces() != 0 {
		set = "SET dp.max_epsilon = "
	}
	set += spent
	told := *short
	told.Message += ": " + set + " still fits"
	if bars := errorBars(plan, make([][]*planner.Released, len(plan.Blocks))); plan.Reduces() == 0 && len(bars) > 0 {
		told.Detail += " With " + strings.TrimPrefix(set, "SET ") + " the error is: " + strings.Join(bars, ", ") + "."
	}
	told.Hint = set + "; or ask the administrator for budget. SELECT * FROM dp.budget shows what is left."
	return &told
}

// fittingPlan returns the plan that spends the most for which all budgets have room, and that amount; nil where there is
// no useful one.
func (e *execution) fittingPlan(ctx context.Context, analysed *analysed, pre *prelude) (best *planner.Plan, spent string) {
	high := float64(pre.settings.Spend())
	low := high / leastFitting
	for range fittingSteps {
		middle := math.Sqrt(low * high)
		amount := twoFigures(int64(middle))
		plan := e.fits(ctx, analysed, pre, amount)
		if plan == nil {
			high = middle
			continue
		}
		best, spent, low = plan, dp.Decimal(amount, 12), middle
	}
	return best, spent
}

// fits returns the plan that spends an amount, in 10⁻¹² of ε; nil where there is none, or no room for it.
func (e *execution) fits(ctx context.Context, analysed *analysed, pre *prelude, pico int64) *planner.Plan {
	lessened := *pre
	lessened.settings.EpsilonPico, lessened.settings.MaxEpsilonPico = pico, pico
	plan, err := e.plan(analysed, &lessened)
	if pico == 0 || err != nil {
		return nil
	}
	known := e.recall(ctx, plan, &lessened)
	rest := plan.Rest(known.Known())
	if e.p.cashier.Covered(ctx, e.prepaid(ctx, e.bill(rest, known.Owed), rest, known, &lessened)) != nil {
		return nil
	}
	return plan
}

// twoFigures rounds an amount down to two figures.
func twoFigures(pico int64) int64 {
	unit := int64(1)
	for pico/unit >= 100 {
		unit *= 10
	}
	return pico / unit * unit
}
