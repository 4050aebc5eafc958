package proxy

import (
	"context"
	"errors"
	"time"

	"dpproxy/accountant"
	"dpproxy/pgerr"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/reader"
)

// chargeError tells a client why a charge was not recorded.
func chargeError(err error) error {
	if short, ok := errors.AsType[*accountant.InsufficientError](err); ok {
		return pgerr.New(pgerr.BudgetExhausted, "privacy budget of %s %q is exhausted", short.Scope.Kind, short.Scope.Name).
			WithDetail("The statement costs %s; %s is left.", short.Requested, short.Remaining).
			WithHint("Ask for less precision (SET dp.epsilon), or ask the administrator for budget. " +
				"SELECT * FROM dp.budget shows what is left.")
	}
	switch {
	case errors.Is(err, context.Canceled): // by the client; a charge itself goes on without them
		return canceled(nil)
	case errors.Is(err, accountant.ErrSuspended):
		return pgerr.New(pgerr.Suspended, "this login is suspended: %d of its statements failed while they read protected data",
			accountant.MaxIncidents).
			WithHint("The administrator can clear the incidents.")
	case errors.Is(err, accountant.ErrQuarantined):
		return pgerr.New(pgerr.Quarantined, "a statement of this shape failed while it read protected data").
			WithHint("Write the statement differently, or ask the administrator to clear the incident.")
	case errors.Is(err, accountant.ErrLeftOut):
		return pgerr.New(pgerr.LedgerUnavailable, "the budgets of the privacy ledger have changed").
			WithHint("Nothing was read or charged. Ask again.")
	case errors.Is(err, accountant.ErrFrozen):
		return pgerr.New(pgerr.BudgetExhausted, "a privacy budget of this statement is frozen").
			WithHint("The administrator has stopped it; ask them when it goes on.")
	}
	return pgerr.New(pgerr.LedgerUnavailable, "the privacy ledger is not available").
		WithHint("Nothing was read. The administrator must look at the ledger.")
}

// reserveError tells a client why a bill was not reserved.
func reserveError(b cashier.Bill, err error) error {
	if own, ok := errors.AsType[*pgerr.Error](err); ok {
		return own
	}
	short, ok := errors.AsType[*accountant.InsufficientError](err)
	if !ok {
		return chargeError(err)
	}
	told := *short
	told.Scope.Name = b.Untold.Scope(short.Scope.Name)
	if b.Rounds {
		return pgerr.New(pgerr.BudgetExhausted, "privacy budget of %s %q is too small for what the statement may cost",
			told.Scope.Kind, told.Scope.Name).
			WithDetail("The statement costs at most %s; %s is left.", short.Requested, short.Remaining).
			WithHint("Allow it less (SET dp.max_epsilon), or ask the administrator for budget. SELECT * FROM dp.budget shows what is left.")
	}
	return chargeError(&told)
}

// chargeStays is the detail of an error behind a charge.
const chargeStays = "The charge of the statement stays."

// readFailed tells a client that a read of protected data did not finish: always the same,
// whatever the cause. Only causes that end a read at a point of time are named: a cancel request, the session's own
// statement_timeout, and the policy's limit.
func readFailed() *pgerr.Error {
	return pgerr.New(pgerr.ReadFailed, "the read of protected data did not finish").
		WithDetail(chargeStays).
		WithHint("Statements of this shape are refused until the administrator clears the incident.")
}

// interrupted tells a client that the protected database has ended a read, for a reason that lies in no row: always
// the same, whatever it was.
func interrupted() *pgerr.Error {
	return pgerr.New(pgerr.ReadInterrupted, "the read of protected data was interrupted: ask again, it is paid").
		WithDetail("The protected database was restarted, or ended the read. The charge stays, and counts for this statement until " +
			"it is answered.").
		WithHint("Ask the same statement again: that costs nothing more.")
}

// tooLong tells a client that a read was ended by the policy's limit.
func tooLong(limit time.Duration) *pgerr.Error {
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to the policy's limit of %v for reading protected data", limit).
		WithDetail(chargeStays).
		WithHint("Ask for less at once: fewer rows (WHERE), or fewer percentiles, modes and counts of DISTINCT values, each of which " +
			"is read by itself. The limit is the administrator's (limits.statement_timeout).")
}

// stopped tells clients why a statement was ended: their own timeout or cancel request, or the policy's limit.
func stopped(cause error, r *cashier.Receipt) *pgerr.Error {
	if over, ok := errors.AsType[*reader.LimitError](cause); ok {
		return tooLong(over.Limit)
	}
	if !errors.Is(cause, reader.ErrTimeout) {
		return canceled(r)
	}
	err := pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")
	if r == nil {
		return err
	}
	return err.WithDetail(chargeStays)
}

// canceled tells clients that their own cancel request ended a statement that was, or
// was not, charged.
func canceled(r *cashier.Receipt) *pgerr.Error {
	err := pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	if r == nil {
		return err
	}
	return err.WithDetail(chargeStays)
}

// unpaidRound says that a round could not be recorded. It is not drawn, and earlier rounds stay
// with us.
func unpaidRound(err error) *pgerr.Error {
	if errors.Is(err, cashier.ErrRound) {
		return defectiveRound()
	}
	return pgerr.New(pgerr.LedgerUnavailable, "the privacy ledger is not available").WithDetail(chargeStays).
		WithHint("The administrator must look at the ledger.")
}

// defectiveRound is the error of a round that cannot be: the charge stays.
func defectiveRound() *pgerr.Error {
	return pgerr.New(pgerr.Internal, "the chain of looks did not go on").WithDetail(chargeStays)
}
