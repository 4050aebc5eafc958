package proxy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"dpproxy/dp"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// fittingSteps is how many amounts are looked at: the one that does not fit tells the one that does, but for prices that grow
// otherwise, which the next one tells.
const fittingSteps = 7

// leastStep is the part of an amount that is tried next at most.
const leastStep = 0.985

// unpricedStep is the part of an amount that is tried next where its price is beyond all numbers.
const unpricedStep = 0.1

// leastFitting is the part of what a statement spends below which none is named: its error would be that many times as large.
const leastFitting = 1000

// fitting adds to the refusal of a statement that budgets have no room for the setting with which it fits what is left,
// and the error that it has then. It reads and charges nothing.
func (e *execution) fitting(ctx context.Context, analysed *analysed, pre *prelude, refused error) error {
	short, ok := errors.AsType[*pgerr.Error](refused)
	unpriced := ok && short.Code == pgerr.Imprecise
	if !ok || !unpriced && (short.Code != pgerr.BudgetExhausted || short.Detail == "") {
		return refused
	}
	plan, spent, tightest := e.fittingPlan(ctx, analysed, pre)
	if plan == nil || tightest.Scope == "" {
		return refused
	}
	set := "SET dp.epsilon = "
	if pre.settings.Target != (planner.Target{}) && plan.Reduces() != 0 {
		set = "SET dp.max_epsilon = "
	}
	set += spent
	told := *short
	if unpriced { // it is more than any budget has
		kind, name, _ := strings.Cut(tightest.Scope, " ")
		told.Code, told.Message = pgerr.BudgetExhausted, fmt.Sprintf("privacy budget of %s %q has no room for the statement", kind, name)
	}
	if of, exhausted := strings.CutSuffix(told.Message, " is exhausted"); exhausted {
		told.Message = of + " has no room for the statement"
	}
	told.Message += ": " + set + " still fits"
	told.Detail = strings.TrimSpace(told.Detail + fmt.Sprintf(" The least is left of %s: %s.", tightest.Scope, tightest.Remaining))
	if bars := knownBars(plan); plan.Reduces() == 0 && len(bars) > 0 {
		told.Detail += " With " + strings.TrimPrefix(set, "SET ") + " the error is: " + strings.Join(bars, ", ") + "."
	}
	told.Hint = set + "; or ask the administrator for budget. SELECT * FROM dp.budget shows what is left."
	return &told
}

// fittingPlan returns a plan for which all budgets have room and that spends about the most of it, and that amount; nil where there is
// no useful one.
func (e *execution) fittingPlan(
	ctx context.Context, analysed *analysed, pre *prelude,
) (plan *planner.Plan, spent string, tightest planner.Cost) {
	spend := pre.settings.Spend()
	amount := spend
	for i := range fittingSteps {
		plan, part, most := e.affords(ctx, analysed, pre, amount)
		switch {
		case plan == nil:
			return nil, "", tightest
		case part == 1 && amount < spend:
			return plan, dp.Decimal(amount, 12), tightest
		case most.Scope != "":
			tightest = most
		}
		if i > 1 {
			part *= part // prices that grow with the amount itself
		}
		if amount = twoFigures(int64(float64(amount) * min(part, leastStep))); amount < spend/leastFitting {
			return nil, "", tightest
		}
	}
	return nil, "", tightest
}

// knownBars are the errors of a plan that are known before the answer.
func knownBars(plan *planner.Plan) (bars []string) {
	for _, bar := range planner.Errors(plan, nil) {
		if bar.Known() {
			bars = append(bars, bar.String())
		}
	}
	return bars
}

// affords returns the plan that spends an amount, in 10⁻¹² of ε, and the part of it for which budgets would have room if its price grew
// with the amount alone, in zCDP with its square: 1 if they have room for all. The plan is nil
// where there is none. Tightest is the budget that has the least room, if not enough.
func (e *execution) affords(
	ctx context.Context, analysed *analysed, pre *prelude, pico int64,
) (plan *planner.Plan, part float64, tightest planner.Cost) {
	lessened := *pre
	lessened.settings.EpsilonPico, lessened.settings.MaxEpsilonPico = pico, pico
	var err error
	if plan, err = e.plan(ctx, analysed, &lessened); pico == 0 || err != nil {
		return nil, 0, tightest
	}
	known := e.recall(ctx, plan, &lessened)
	rest := plan.Rest(known.Left())
	bill := e.prepaid(ctx, e.bill(rest, known.Owed), rest, known, &lessened)
	covered := e.p.cashier.Covered(ctx, bill)
	switch own, _ := errors.AsType[*pgerr.Error](covered); {
	case covered == nil:
		return plan, 1, tightest
	case own != nil && own.Code == pgerr.Imprecise:
		return plan, unpricedStep, tightest
	}
	costs, err := e.p.cashier.Costs(ctx, bill)
	if err != nil {
		return nil, 0, tightest
	}
	least := leastStep
	for _, c := range costs {
		part := float64(c.Remaining.Pico()) / float64(max(c.Loss.Pico(), 1))
		if c.Loss.Measure() == dp.ZCDP {
			part = math.Sqrt(part)
		}
		if !c.Fits && (part < least || tightest.Scope == "") {
			least, tightest = min(least, part), c
		}
	}
	return plan, least, tightest
}

// twoFigures rounds an amount down to two figures.
func twoFigures(pico int64) int64 {
	unit := int64(1)
	for pico/unit >= 100 {
		unit *= 10
	}
	return pico / unit * unit
}
