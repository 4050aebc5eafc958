// Package memledger is a ledger in memory, for tests: it forgets everything
// when the process ends, so nothing it grants is a guarantee.
package memledger

import (
	"context"
	"fmt"
	"sync"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// boot names the only run that a ledger in memory ever has.
const boot = "memory"

// A Ledger is an [accountant.Ledger] in memory. Its methods are safe for
// concurrent use.
type Ledger struct {
	mu     sync.Mutex
	state  *history.State
	closed bool
}

var _ accountant.Ledger = (*Ledger)(nil)

// New returns a ledger in which the scopes have the given limits and nothing is
// spent. It refuses limits that no ledger accepts, such as two for one scope.
func New(limits []accountant.Limit) (*Ledger, error) {
	state := history.NewState()
	for _, e := range []history.Entry{history.BeginEntry{Boot: boot, Sole: true}, history.LimitsEntry(limits)} {
		if err := state.Apply("", e); err != nil {
			return nil, err
		}
	}
	return &Ledger{state: state}, nil
}

// Charge implements [accountant.Ledger].
func (l *Ledger) Charge(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	seq, err := l.apply(ctx, history.ChargeEntry(c))
	return accountant.ChargeID(seq), err
}

// Admit implements [accountant.Ledger].
func (l *Ledger) Admit(ctx context.Context, analyst, shape string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return err
	}
	return l.state.Admit(boot, analyst, shape)
}

// Hold implements [accountant.Ledger].
func (l *Ledger) Hold(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	seq, err := l.apply(ctx, history.HoldEntry(c))
	return accountant.ChargeID(seq), err
}

// Step implements [accountant.Ledger].
func (l *Ledger) Step(ctx context.Context, hold accountant.ChargeID, events []string, debits []accountant.Debit) error {
	_, err := l.apply(ctx, history.StepEntry{Hold: hold, Events: events, Debits: debits})
	return err
}

// Settle implements [accountant.Ledger].
func (l *Ledger) Settle(ctx context.Context, hold accountant.ChargeID) error {
	_, err := l.apply(ctx, history.SettleEntry{Hold: hold})
	return err
}

// Incident implements [accountant.Ledger].
func (l *Ledger) Incident(ctx context.Context, in accountant.Incident) error {
	_, err := l.apply(ctx, history.IncidentEntry(in))
	return err
}

// ClearIncidents implements [accountant.Ledger].
func (l *Ledger) ClearIncidents(ctx context.Context, analyst, reason string) error {
	_, err := l.apply(ctx, history.ClearEntry{Analyst: analyst, Reason: reason})
	return err
}

// Balances implements [accountant.Ledger].
func (l *Ledger) Balances(ctx context.Context, scopes ...accountant.Scope) ([]accountant.Balance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	return l.state.Balances(scopes...)
}

// Incidents implements [accountant.Ledger].
func (l *Ledger) Incidents(ctx context.Context) ([]accountant.Incident, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	return l.state.Incidents(), nil
}

// Close implements [accountant.Ledger]. Afterwards the ledger is unavailable.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}

// apply takes one step and returns its number, or zero and why not.
func (l *Ledger) apply(ctx context.Context, e history.Entry) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return 0, err
	}
	if err := l.state.Apply(boot, e); err != nil {
		return 0, err
	}
	return l.state.Seq(), nil
}

func (l *Ledger) usable(ctx context.Context) error {
	if l.closed {
		return fmt.Errorf("%w: it is closed", accountant.ErrUnavailable)
	}
	return ctx.Err()
}
