package proxy

import (
	"context"
	"errors"

	"dpproxy/accountant"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// chargeError tells a client why a charge was not recorded.
func chargeError(err error) error {
	if short, ok := errors.AsType[*accountant.InsufficientError](err); ok {
		return pgerr.New(pgerr.BudgetExhausted, "privacy budget of %s %q is exhausted", short.Scope.Kind, short.Scope.Name).
			WithDetail("The statement costs %s; %s is left.", short.Requested, short.Remaining).
			WithHint("Ask for less precision (SET dp.epsilon), or ask the administrator for budget. SELECT * FROM dp.budget shows what is left.")
	}
	switch {
	case errors.Is(err, accountant.ErrSuspended):
		return pgerr.New(pgerr.Suspended, "this login is suspended: %d of its statements failed while they read protected data", accountant.MaxIncidents).
			WithHint("The administrator can clear the incidents.")
	case errors.Is(err, accountant.ErrQuarantined):
		return pgerr.New(pgerr.Quarantined, "a statement of this shape failed while it read protected data").
			WithHint("Write the statement differently, or ask the administrator to clear the incident.")
	case errors.Is(err, accountant.ErrFrozen):
		return pgerr.New(pgerr.BudgetExhausted, "a privacy budget of this statement is frozen").
			WithHint("The administrator has stopped it; ask him when it goes on.")
	}
	return pgerr.New(pgerr.LedgerUnavailable, "the privacy ledger is not available").
		WithHint("Nothing was read. The administrator must look at the ledger.")
}

// chargeStays is the detail of an error behind a charge.
const chargeStays = "The charge of the statement stays."

// failed tells a client that a read of protected data did not finish: always the
// same, whatever the cause, and after the incident is on record. Only what the
// analyst did himself is named: a cancel request, and his own statement_timeout.
func (a *answer) failed(ctx context.Context, r *receipt, plan *planner.Plan, err error) error {
	switch {
	case context.Cause(ctx) != nil:
		return canceled(r)
	case errors.Is(err, errTimeout):
		return pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout").WithDetail(chargeStays)
	}
	if changed, ok := errors.AsType[*pgerr.Error](err); ok && changed.Code == pgerr.SchemaChanged {
		return err
	}
	in := accountant.Incident{Charge: r.id, Analyst: a.analyst, Shape: plan.Shape}
	if err := a.p.incidents.record(context.WithoutCancel(ctx), in); err != nil {
		a.p.cfg.Log.Error("an incident could not be recorded", "analyst", a.analyst, "error", err)
	}
	a.p.cfg.Log.Warn("a read of protected data failed", "analyst", a.analyst, "shape", plan.Shape)
	return pgerr.New(pgerr.ReadFailed, "the read of protected data did not finish").
		WithDetail(chargeStays).
		WithHint("Statements of this shape are refused until the administrator clears the incident.")
}
