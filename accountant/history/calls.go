package history

import (
	"context"
	"errors"

	"dpproxy/accountant"
)

// Calls are the calls of an [accountant.Ledger] but Close, as entries of one run. A ledger embeds
// them; how an entry is recorded, and when a state is current, is its own.
type Calls struct {
	boot   string
	record RecordFunc
	read   ReadFunc
}

// A RecordFunc records an entry that a run makes, or an administrator if run is empty. It returns
// the entry's number once it is durable. Its errors are those of [accountant.Ledger.Charge].
type RecordFunc func(ctx context.Context, run string, e Entry) (seq uint64, err error)

// A ReadFunc calls a function with a state that is current. After an error the function may yet be
// called, so that its result must not be looked at.
type ReadFunc func(ctx context.Context, look func(*State)) error

// NewCalls returns the calls of the run with the name boot.
func NewCalls(boot string, record RecordFunc, read ReadFunc) Calls { return Calls{boot, record, read} }

// Charge implements [accountant.Ledger].
func (c Calls) Charge(ctx context.Context, charge accountant.Charge) (accountant.ChargeID, error) {
	seq, err := c.record(ctx, c.boot, ChargeEntry(charge))
	return accountant.ChargeID(seq), err
}

// Admit implements [accountant.Ledger].
func (c Calls) Admit(ctx context.Context, analyst, shape string) error {
	var refused error
	if err := c.read(ctx, func(s *State) { refused = s.Admit(c.boot, analyst, shape) }); err != nil {
		return err
	}
	return refused
}

// Hold implements [accountant.Ledger].
func (c Calls) Hold(ctx context.Context, charge accountant.Charge) (accountant.ChargeID, error) {
	seq, err := c.record(ctx, c.boot, HoldEntry(charge))
	return accountant.ChargeID(seq), err
}

// Step implements [accountant.Ledger].
func (c Calls) Step(ctx context.Context, hold accountant.ChargeID, events []string, debits []accountant.Debit) error {
	_, err := c.record(ctx, c.boot, StepEntry{Hold: hold, Events: events, Debits: debits})
	return err
}

// Settle implements [accountant.Ledger].
func (c Calls) Settle(ctx context.Context, hold accountant.ChargeID) error {
	_, err := c.record(ctx, c.boot, SettleEntry{Hold: hold})
	return err
}

// Unanswered implements [accountant.Ledger].
func (c Calls) Unanswered(ctx context.Context, charge accountant.ChargeID) error {
	_, err := c.record(ctx, c.boot, UnansweredEntry{Charge: charge})
	return err
}

// Prepaid implements [accountant.Ledger].
func (c Calls) Prepaid(ctx context.Context, question string) (accountant.Prepaid, error) {
	var found accountant.Prepaid
	if err := c.read(ctx, func(s *State) { found = s.Prepaid(question) }); err != nil {
		return accountant.Prepaid{}, err
	}
	return found, nil
}

// Incident implements [accountant.Ledger].
func (c Calls) Incident(ctx context.Context, in accountant.Incident) error {
	_, err := c.record(ctx, c.boot, IncidentEntry(in))
	return err
}

// ClearIncidents implements [accountant.Ledger].
func (c Calls) ClearIncidents(ctx context.Context, analyst, reason string) error {
	_, err := c.record(ctx, "", ClearEntry{Analyst: analyst, Reason: reason})
	return err
}

// SetLimits records a new configuration: it can add budgets and lower limits.
// It changes all or nothing.
func (c Calls) SetLimits(ctx context.Context, limits []accountant.Limit) error {
	_, err := c.record(ctx, c.boot, LimitsEntry(limits))
	return err
}

// Balances implements [accountant.Ledger].
func (c Calls) Balances(ctx context.Context, scopes ...accountant.Scope) ([]accountant.Balance, error) {
	var all []accountant.Balance
	var unknown error
	if err := c.read(ctx, func(s *State) { all, unknown = s.Balances(scopes...) }); err != nil {
		return nil, err
	}
	return all, unknown
}

// Links implements [accountant.Ledger].
func (c Calls) Links(ctx context.Context) ([]accountant.Link, error) {
	var all []accountant.Link
	if err := c.read(ctx, func(s *State) { all = LinksOf(s) }); err != nil {
		return nil, err
	}
	return all, nil
}

// SetPolicy records the limits of a policy and the tables that they are for, all or nothing. It raises the format of a ledger of an
// earlier version first. Its errors are those of a policy that does not have the budgets of the ledger ([accountant.ErrPolicy]),
// or raises one ([accountant.ErrLimitRaise]).
func (c Calls) SetPolicy(ctx context.Context, p PolicyEntry) error {
	if err := c.Raise(ctx); err != nil {
		return err
	}
	_, err := c.record(ctx, c.boot, p)
	return err
}

// Raise raises the format of a ledger of an earlier version: programs of that version refuse it from then on.
func (c Calls) Raise(ctx context.Context) error {
	for {
		var has int
		if err := c.read(ctx, func(s *State) { has = s.format }); err != nil || has >= Format {
			return err
		}
		_, err := c.record(ctx, "", FormatEntry(Format))
		if err == nil || !errors.Is(err, errFormat) {
			return err
		}
	}
}

// Incidents implements [accountant.Ledger].
func (c Calls) Incidents(ctx context.Context) ([]accountant.Incident, error) {
	var incidents []accountant.Incident
	if err := c.read(ctx, func(s *State) { incidents = s.Incidents() }); err != nil {
		return nil, err
	}
	return incidents, nil
}

// Survey records that the objects of a local table have answered a question. The answers may be shown once it returns nil.
func (c Calls) Survey(ctx context.Context, s accountant.Survey) error {
	_, err := c.record(ctx, c.boot, SurveyEntry(s))
	return err
}

// Surveys returns those of a local table in their order, and the number of its epoch.
func (c Calls) Surveys(ctx context.Context, table string) (all []accountant.Survey, epoch int64, err error) {
	err = c.read(ctx, func(s *State) { all, epoch = SurveysOf(s, table) })
	return all, epoch, err
}
