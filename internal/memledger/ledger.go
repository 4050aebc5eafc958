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
	history.Calls
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
	l := &Ledger{state: state}
	l.Calls = history.NewCalls(boot, l.record, l.read)
	return l, nil
}

// Decide records an administrator's decision.
func (l *Ledger) Decide(ctx context.Context, decision history.Entry) error {
	_, err := l.record(ctx, "", decision)
	return err
}

// Close implements [accountant.Ledger]. Afterwards the ledger is unavailable.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}

// record takes one step and returns its number, or zero and why not.
func (l *Ledger) record(ctx context.Context, run string, e history.Entry) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return 0, err
	}
	if err := l.state.Apply(run, e); err != nil {
		return 0, err
	}
	return l.state.Seq(), nil
}

// read shows the state.
func (l *Ledger) read(ctx context.Context, look func(*history.State)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return err
	}
	look(l.state)
	return nil
}

func (l *Ledger) usable(ctx context.Context) error {
	if l.closed {
		return fmt.Errorf("%w: it is closed", accountant.ErrUnavailable)
	}
	return ctx.Err()
}
