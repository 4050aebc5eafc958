package proxy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/wire"
)

// receipt is a charge that was recorded.
type receipt struct {
	id     accountant.ChargeID
	debits []accountant.Debit
	looks  int      // of a chain; 0 without one
	notes  []string // what else the analyst should know
}

// debits prices a plan in the measure of each budget that it touches. What others
// have asked before costs the analyst's own budget alone, once.
func (a *answer) debits(plan *planner.Plan, owed dp.ComposedEvent) ([]accountant.Debit, error) {
	var out []accountant.Debit
	for _, s := range a.p.scopes(a.analyst, plan.Tables) {
		event := plan.Event
		if s.Kind == accountant.AnalystScope {
			event = append(slices.Clone(event), owed...)
		}
		if len(event) == 0 {
			continue
		}
		measure, ok := a.p.measures[s]
		if !ok {
			return nil, pgerr.New(pgerr.BudgetExhausted, "there is no budget for %s", s)
		}
		loss, err := a.p.prices.price(event, measure)
		if err != nil {
			return nil, pgerr.New(pgerr.Imprecise, "the mechanism has no finite cost in the budget of %s", s).
				WithHint("SET dp.mechanism = laplace.")
		}
		out = append(out, accountant.Debit{Scope: s, Loss: loss})
	}
	return out, nil
}

// charge records the cost, durably, before anything is read. A client that gives
// up meanwhile does not stop it. What costs nothing has no receipt, and needs a ledger
// that would have admitted it.
func (a *answer) charge(ctx context.Context, plan *planner.Plan, known *known, v *veil) (*receipt, error) {
	r, err := a.recorded(ctx, plan, known)
	v.paid = err == nil
	return r, err
}

func (a *answer) recorded(ctx context.Context, plan *planner.Plan, known *known) (*receipt, error) {
	debits, err := a.debits(plan, known.owed)
	if err != nil {
		return nil, err
	}
	if len(debits) == 0 {
		if err := a.p.cfg.Ledger.Admit(ctx, a.analyst, plan.Shape); err != nil {
			return nil, chargeError(err)
		}
		return nil, nil
	}
	var events []string
	for _, e := range append(slices.Clone(plan.Event), known.owed...) {
		events = append(events, fmt.Sprint(e))
	}
	ctx = context.WithoutCancel(ctx)
	id, err := a.p.cfg.Ledger.Charge(ctx, accountant.Charge{Analyst: a.analyst, Shape: plan.Shape, Events: events, Debits: debits})
	if err != nil {
		return nil, chargeError(err)
	}
	a.paid(ctx, known)
	return &receipt{id: id, debits: debits}, nil
}

// covered refuses what a charge would be refused for, as it is now. The protected database then
// hears nothing of the statement: how long it takes to plan one would be told, often, at no cost.
func (a *answer) covered(ctx context.Context, plan *planner.Plan, owed dp.ComposedEvent, tell func(error) error) error {
	debits, err := a.debits(plan, owed)
	if err != nil {
		return err
	}
	if err := a.p.cfg.Ledger.Admit(ctx, a.analyst, plan.Shape); err != nil {
		return tell(err)
	}
	balances, err := a.p.cfg.Ledger.Balances(ctx, scopesOf(debits)...)
	if err != nil {
		return tell(err)
	}
	for i, b := range balances {
		switch left := b.Remaining(); {
		case b.Frozen:
			return tell(accountant.ErrFrozen)
		case !debits[i].Loss.Fits(left):
			return tell(&accountant.InsufficientError{Scope: b.Scope, Requested: debits[i].Loss, Remaining: left})
		}
	}
	return nil
}

func scopesOf(debits []accountant.Debit) []accountant.Scope {
	scopes := make([]accountant.Scope, len(debits))
	for i, d := range debits {
		scopes[i] = d.Scope
	}
	return scopes
}

// notice tells what the answer cost, how wrong it may be, and what is left.
func (a *answer) notice(ctx context.Context, r *receipt, plan *planner.Plan, released [][]*planner.Released, confidence float64) wire.Notice {
	n := wire.Notice{
		Code: "00000",
		Message: fmt.Sprintf("cost %s; error at %s %%: %s%s", r.cost(plan.Mechanism),
			planner.Number(100*confidence), strings.Join(errorBars(plan, released), ", "), a.remaining(ctx, r)+r.remarks()),
	}
	if bounds := plan.Clamped(); bounds != "" {
		n.Detail = "Values are clamped: " + bounds + ". The error does not include what clamping and contribution limits leave out."
	}
	return n
}

// errorBars are the errors of the answers, each once.
func errorBars(plan *planner.Plan, released [][]*planner.Released) []string {
	var bars []string
	for i, b := range plan.Blocks {
		for _, bar := range b.Errors(released[i]) {
			s := bar.String()
			if len(bars) == 0 || bars[len(bars)-1] != s {
				bars = append(bars, s)
			}
		}
	}
	return bars
}

// cost says what was charged.
func (r *receipt) cost(mechanism string) string {
	if r == nil {
		return "nothing, the same was answered before"
	}
	if r.looks > 0 {
		mechanism += fmt.Sprintf(", %d looks", r.looks)
	}
	return fmt.Sprintf("%s (%s)", brief(r.debits[0].Loss), mechanism)
}

// remarks are what the analyst should know beside.
func (r *receipt) remarks() string {
	if r == nil {
		return ""
	}
	return strings.Join(append([]string{""}, r.notes...), "; ")
}

// remaining names the budget that will be exhausted first by more of the same. An answer that
// is paid for is given without it where the ledger does not say.
func (a *answer) remaining(ctx context.Context, r *receipt) string {
	if r == nil {
		return ""
	}
	left, err := a.p.cfg.Ledger.Balances(context.WithoutCancel(ctx), scopesOf(r.debits)...)
	if err != nil {
		return ""
	}
	var scope accountant.Balance
	fewest := int64(-1)
	for i, b := range left {
		n := more(b, r.debits[i].Loss)
		if fewest < 0 || n < fewest {
			fewest, scope = n, b
		}
	}
	if fewest < 0 {
		return ""
	}
	return fmt.Sprintf("; %s left of %s %s, about %d more like this", brief(scope.Remaining()), scope.Scope.Kind, scope.Scope.Name, fewest)
}

// brief writes a loss for people: its main parameter with four digits.
func brief(l dp.Loss) string {
	return l.Measure().Symbol() + "=" + planner.Number(float64(l.Pico())/dp.PicoPerUnit)
}

// more returns how often the loss fits what is left.
func more(b accountant.Balance, loss dp.Loss) int64 {
	if loss.Pico() == 0 {
		return 0
	}
	return b.Remaining().Pico() / loss.Pico()
}
