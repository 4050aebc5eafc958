package logledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// A Ledger is an [accountant.Ledger] in a directory that it has locked.
// Its methods are safe for concurrent use.
type Ledger struct {
	// The files' state, at and checkpoint count all admitted entries, the
	// undurable ones too, under mu. Their store is the committer's, and Close's
	// after stopped.
	files
	now   func() time.Time
	boot  string // the run
	every uint64 // entries between checkpoints

	mu     sync.Mutex
	batch  *batch // to be written next
	err    error  // of every call, once the ledger failed or closed
	failed bool

	kick    chan struct{} // tells the committer that the batch has entries
	stopped chan struct{} // closed when the committer has ended

	closing  sync.Once
	closeErr error
}

var _ accountant.Ledger = (*Ledger)(nil)

// Charge implements [accountant.Ledger].
func (l *Ledger) Charge(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	seq, err := l.record(ctx, history.ChargeEntry(c))
	return accountant.ChargeID(seq), err
}

// Admit implements [accountant.Ledger].
func (l *Ledger) Admit(ctx context.Context, analyst, shape string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.err, ctx.Err()); err != nil {
		return err
	}
	return l.state.Admit(l.boot, analyst, shape)
}

// Hold implements [accountant.Ledger].
func (l *Ledger) Hold(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	seq, err := l.record(ctx, history.HoldEntry(c))
	return accountant.ChargeID(seq), err
}

// Step implements [accountant.Ledger].
func (l *Ledger) Step(ctx context.Context, hold accountant.ChargeID, events []string, debits []accountant.Debit) error {
	_, err := l.record(ctx, history.StepEntry{Hold: hold, Events: events, Debits: debits})
	return err
}

// Settle implements [accountant.Ledger].
func (l *Ledger) Settle(ctx context.Context, hold accountant.ChargeID) error {
	_, err := l.record(ctx, history.SettleEntry{Hold: hold})
	return err
}

// Incident implements [accountant.Ledger].
func (l *Ledger) Incident(ctx context.Context, in accountant.Incident) error {
	_, err := l.record(ctx, history.IncidentEntry(in))
	return err
}

// ClearIncidents implements [accountant.Ledger].
func (l *Ledger) ClearIncidents(ctx context.Context, analyst, reason string) error {
	_, err := l.record(ctx, history.ClearEntry{Analyst: analyst, Reason: reason})
	return err
}

// SetLimits records a new configuration: it can add budgets and lower limits.
// It changes all or nothing.
func (l *Ledger) SetLimits(ctx context.Context, limits []accountant.Limit) error {
	_, err := l.record(ctx, history.LimitsEntry(limits))
	return err
}

// Decide records an administrator's decision: a RaiseEntry, LowerEntry,
// FreezeEntry, FenceEntry or NoteEntry, with who decided and why. The
// configuration must say the same as a raised limit by the next Open, or that
// lowers it again.
func (l *Ledger) Decide(ctx context.Context, decision history.Entry) error {
	if ofRun(decision) {
		return fmt.Errorf("logledger: %T is no decision", decision)
	}
	_, err := l.record(ctx, decision)
	return err
}

// Balances implements [accountant.Ledger]. It counts charges that are not yet
// durable.
func (l *Ledger) Balances(ctx context.Context, scopes ...accountant.Scope) ([]accountant.Balance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.err, ctx.Err()); err != nil {
		return nil, err
	}
	return l.state.Balances(scopes...)
}

// Incidents implements [accountant.Ledger].
func (l *Ledger) Incidents(ctx context.Context) ([]accountant.Incident, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.err, ctx.Err()); err != nil {
		return nil, err
	}
	return l.state.Incidents(), nil
}

// Close makes all admitted entries durable and lets go of the directory. Later
// calls return [accountant.ErrUnavailable].
func (l *Ledger) Close() error {
	l.closing.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

func (l *Ledger) close() error {
	l.mu.Lock()
	if l.err == nil {
		if l.at.seq > l.checkpoint {
			l.appendCheckpoint()
		}
		l.err = fmt.Errorf("%w: it is closed", accountant.ErrUnavailable)
	}
	close(l.kick) // no call sends on it once l.err is set
	l.mu.Unlock()
	<-l.stopped
	var err error
	if !l.failed {
		err = l.store.mark.sync()
	}
	return errors.Join(err, l.closeFiles())
}
