package redisledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
)

// Options say which Redis keeps a ledger and how it is used.
type Options struct {
	URL      string // redis://, rediss:// or unix://
	Password string // of the URL's user; empty: the one in the URL, or none
	Name     string // of the ledger; its hash is "dp:" and the name
	Dir      string // of this proxy's journal
	// Replicas is how many must have an entry before it is acknowledged.
	Replicas int
	// AssertedDurable is an operator's word that a server that hides its settings
	// has the right ones, and who gave it. It is recorded in the ledger.
	AssertedDurable string
	// Patience is how long a call goes on when Redis cannot be reached; 0 is five
	// seconds.
	Patience time.Duration
	// CheckpointEvery is after how many entries the ledger's state is written
	// down, so that a start reads only the entries since; 0 is a good number.
	CheckpointEvery int
	Log             *slog.Logger
	Now             func() time.Time // dates the entries, for people
	// Confirm is shown the ledger as it is found; its error ends Open. Nil confirms all.
	Confirm func(ctx context.Context, p history.Past) error
}

func (o Options) patience() time.Duration {
	if o.Patience > 0 {
		return o.Patience
	}
	return 5 * time.Second
}

// A Ledger is an [accountant.Ledger] in Redis. Its methods are safe for
// concurrent use. Balances are current when Redis replies.
type Ledger struct {
	history.Calls
	log     *slog.Logger
	now     func() time.Time
	boot    string
	every   uint64
	server  *server
	journal journal

	// Of the committer alone:
	state      *history.State
	at         position
	checkpoint uint64 // the number of the last one
	// abandoned are the lines of charges whose calls have failed, and undrawn the numbers of those that have landed.
	abandoned map[string]bool
	undrawn   []uint64

	mu      sync.Mutex
	queue   []*request
	err     error         // of every call, once the ledger diverged, failed or closed
	kick    chan struct{} // tells the committer that the queue has requests
	stopped chan struct{} // closed when the committer has ended

	closing  sync.Once
	closeErr error
}

var _ accountant.Ledger = (*Ledger)(nil)

// A journal keeps acknowledged lines; [logledger.Journal] is one.
type journal interface {
	Append(lines [][]byte) error
	Checkpoint(text []byte, seq uint64, head history.Hash, line []byte)
	Close() error
}

var _ journal = (*logledger.Journal)(nil)

// A request is an entry to append, or something to read from a current state.
type request struct {
	entry history.Entry // nil for reading
	body  history.Body
	run   string
	read  func(*history.State)
	seq   uint64
	err   error
	done  chan struct{} // closed when seq and err are final
}

func (r *request) finish(err error) {
	r.err = err
	close(r.done)
}

// Decide records an administrator's decision: a RaiseEntry, LowerEntry,
// FreezeEntry, FenceEntry, RenameEntry, RetireEntry or NoteEntry, with who decided and why.
func (l *Ledger) Decide(ctx context.Context, decision history.Entry) error {
	if history.NeedsFormat(decision) {
		if err := l.Raise(ctx); err != nil {
			return err
		}
	}
	_, err := l.record(ctx, "", decision)
	return err
}

// Runs returns the process runs that go on, this one among them.
func (l *Ledger) Runs(ctx context.Context) ([]string, error) {
	var runs []string
	if err := l.read(ctx, func(s *history.State) { runs = s.Runs() }); err != nil {
		return nil, err
	}
	return runs, nil
}

// record appends an entry and returns its number when it is acknowledged.
func (l *Ledger) record(ctx context.Context, run string, e history.Entry) (uint64, error) {
	body, err := history.Prepare(run, e)
	if err != nil {
		return 0, err
	}
	r := &request{entry: e, body: body, run: run, done: make(chan struct{})}
	if err := l.submit(ctx, r); err != nil {
		return 0, err
	}
	select {
	case <-r.done:
		return r.seq, r.err
	case <-ctx.Done():
		return 0, fmt.Errorf("redisledger: given up while an entry was being written, and it may count: %w", ctx.Err())
	}
}

// read calls a function with a state that is current. After an error the function
// may yet be called, so that its result must not be looked at.
func (l *Ledger) read(ctx context.Context, read func(*history.State)) error {
	r := &request{read: read, done: make(chan struct{})}
	if err := l.submit(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Durable returns the ledger as Redis and this proxy's journal have it.
func (l *Ledger) Durable(ctx context.Context) (m history.Moment, err error) {
	failed := l.read(ctx, func(s *history.State) { m, err = s.Moment(l.server.id, l.at.head) })
	if failed != nil { // and the function may yet be called
		return history.Moment{}, failed
	}
	return m, err
}

// confirm shows the ledger as it was found.
func (l *Ledger) confirm(ctx context.Context, confirm func(context.Context, history.Past) error) error {
	if confirm == nil {
		return nil
	}
	p, err := l.past(ctx)
	if err != nil {
		return err
	}
	return confirm(ctx, p)
}

// past returns the ledger as it is now.
func (l *Ledger) past(ctx context.Context) (p history.Past, err error) {
	look := func(s *history.State) { p, err = history.PastOf(s, l.server.id, l.at.head, l.server.headOf) }
	if failed := l.read(ctx, look); failed != nil { // and the function may yet be called
		return history.Past{}, failed
	}
	p.Again = l.past
	return p, err
}

func (l *Ledger) submit(ctx context.Context, r *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil && l.err == nil {
		return err
	}
	if l.err != nil {
		return l.err
	}
	l.queue = append(l.queue, r)
	select {
	case l.kick <- struct{}{}:
	default: // the committer has been told already
	}
	return nil
}

// Close ends the run, so that its holds are given back, and lets go of the
// journal. Later calls return [accountant.ErrUnavailable].
func (l *Ledger) Close() error {
	l.closing.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

func (l *Ledger) close() error {
	l.mu.Lock()
	alive := l.err == nil
	if alive {
		end := history.FenceEntry{Boot: l.boot, Who: "dpproxy", Reason: "the process ended"}
		if body, err := history.Prepare("", end); err == nil {
			l.queue = append(l.queue, &request{entry: end, body: body, done: make(chan struct{})})
		}
		l.err = fmt.Errorf("%w: it is closed", accountant.ErrUnavailable)
	}
	close(l.kick) // no call sends on it once l.err is set
	l.mu.Unlock()
	<-l.stopped
	return errors.Join(l.journal.Close(), l.server.client.Close())
}
