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
// Its methods are safe for concurrent use. Balances count charges that are not yet
// durable.
type Ledger struct {
	history.Calls
	// The files' state, at and checkpoint count all admitted entries, the
	// undurable ones too, under mu. Their store is the committer's, and Close's
	// after stopped.
	files
	now   func() time.Time
	boot  string // the run
	every uint64 // entries between checkpoints

	mu     sync.Mutex
	batch  *batch // to be written next
	before *batch // that is being written, or was last; nil: there was none
	err    error  // of every call, once the ledger failed or closed
	failed bool

	kick    chan struct{} // tells the committer that the batch has entries
	stopped chan struct{} // closed when the committer has ended

	closing  sync.Once
	closeErr error
}

var _ accountant.Ledger = (*Ledger)(nil)

// Decide records an administrator's decision: a RaiseEntry, LowerEntry,
// FreezeEntry, FenceEntry, RenameEntry, RetireEntry or NoteEntry, with who decided and why. The
// configuration must say the same as a raised limit by the next Open, or that
// lowers it again.
func (l *Ledger) Decide(ctx context.Context, decision history.Entry) error {
	if ofRun(decision) {
		return fmt.Errorf("logledger: %T is no decision", decision)
	}
	if history.NeedsFormat(decision) {
		if err := l.Raise(ctx); err != nil {
			return err
		}
	}
	_, err := l.record(ctx, "", decision)
	return err
}

// ofRun reports whether the run makes an entry, and not an administrator or the
// beginning of a run.
func ofRun(e history.Entry) bool {
	switch e.(type) {
	case history.ChargeEntry, history.VoidEntry, history.HoldEntry, history.StepEntry, history.SettleEntry,
		history.UnansweredEntry, history.IncidentEntry, history.LimitsEntry, history.CheckpointEntry, history.SurveyEntry,
		history.PolicyEntry:
		return true
	case history.BeginEntry, history.ClearEntry, history.RaiseEntry, history.LowerEntry,
		history.FreezeEntry, history.FenceEntry, history.RestoreEntry, history.NoteEntry, history.EpochEntry, history.FormatEntry,
		history.RenameEntry, history.RetireEntry:
	}
	return false
}

// read shows the state after all admitted entries.
func (l *Ledger) read(ctx context.Context, look func(*history.State)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.err, ctx.Err()); err != nil {
		return err
	}
	look(l.state)
	return nil
}

// Durable returns the ledger as it is now, once all of it is durable.
func (l *Ledger) Durable(ctx context.Context) (history.Moment, error) {
	l.mu.Lock()
	m, err := l.state.Moment(l.store.id.String(), l.at.head)
	err = errors.Join(l.err, err)
	last := l.before
	if len(l.batch.frames) > 0 {
		last = l.batch
	}
	l.mu.Unlock()
	if err != nil || last == nil {
		return m, err
	}
	select {
	case <-last.done:
		return m, last.err
	case <-ctx.Done():
		return m, ctx.Err()
	}
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
