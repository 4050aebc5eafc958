package witness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// A Place keeps the marks of ledgers, for each the latest.
type Place interface {
	// Name is how people call it.
	Name() string
	// Read returns the mark that is kept for a ledger, nil if none is.
	Read(ctx context.Context, ledger string) ([]byte, error)
	// Write replaces the mark that is kept for a ledger, nil for none, by a sealed one. Where another is kept it
	// changes nothing, and done is false.
	Write(ctx context.Context, ledger string, old, sealed []byte) (done bool, err error)
	// Others returns the marks that are kept for all ledgers but one, by the ledger.
	Others(ctx context.Context, ledger string) (map[string][]byte, error)
	// Remove has no mark kept for a ledger any more.
	Remove(ctx context.Context, ledger string) error
}

// A Ledger has moments. It is asked for them at each tick.
type Ledger interface {
	Durable(ctx context.Context) (history.Moment, error)
}

const (
	// shortest is the time between two ticks; perBudget makes it longer where there are many budgets.
	shortest  = time.Second
	perBudget = 10 * time.Millisecond
	// Patience is how long charges go on while no place takes a mark.
	Patience = 30 * time.Second
)

// ErrOther says that another process goes on with a copy of the ledger.
var ErrOther = errors.New("witness: another process has marked later entries: it goes on with a copy of this ledger")

// ErrLate says that no place has taken a mark for a while.
var ErrLate = fmt.Errorf("witness: no mark of the ledger was written for %v", Patience)

// A Witness writes the marks of one ledger at its places. But for Err it is used by one goroutine.
type Witness struct {
	key    []byte
	shared bool // several processes write to the ledger, and mark it
	log    *slog.Logger
	now    func() time.Time
	pause  func(context.Context, time.Duration) error

	places []*keeping
	// next is the mark for the next tick, and sealed its bytes.
	next   Mark
	sealed []byte

	mu      sync.Mutex
	written time.Time // a mark, at one of the places
	err     error     // for good
}

// keeping is a place, as far as it is known.
type keeping struct {
	Place
	kept   []byte // by the place, as far as is known
	failed bool   // at the last tick

	others map[string][]byte // the marks of other ledgers at the last look
	looked bool
}

// New returns the witness of a ledger. The key is of 32 bytes, and the same at each start. Shared says that other processes
// write to the ledger too, and mark it at the same places.
func New(key []byte, shared bool, log *slog.Logger, now func() time.Time, places ...Place) *Witness {
	w := &Witness{key: key, shared: shared, log: log, now: now, pause: pause}
	for _, p := range places {
		w.places = append(w.places, &keeping{Place: p})
	}
	return w
}

// Confirm compares a ledger that is being opened with the mark at each place. It returns a [*BehindError] where one is
// later, of them the one with the latest mark. A place without a mark proves nothing, and is told of.
func (w *Witness) Confirm(ctx context.Context, p history.Past) error {
	var worst *BehindError
	for _, k := range w.places {
		m, found, err := w.read(ctx, k, p.Ledger)
		if err != nil {
			return err
		}
		if !found {
			w.log.Warn("there is no mark of the ledger: an older copy would not be noticed here", "place", k.Name(), "entries", p.Seq)
			continue
		}
		err = confirm(ctx, k.Name(), m, p)
		behind, is := errors.AsType[*BehindError](err)
		switch {
		case err == nil:
		case !is:
			return err
		case worst == nil || behind.Mark.Seq > worst.Mark.Seq:
			worst = behind
		}
	}
	if worst != nil {
		return worst
	}
	return nil
}

// A Finding is the mark that a place keeps of a ledger, if it does.
type Finding struct {
	Place string
	Mark  Mark
	Found bool
	// Err says why it could not be read.
	Err error
}

// Findings reads the marks of a ledger that goes on. They are read before its entries, among which their own must be.
func (w *Witness) Findings(ctx context.Context, ledger string) []Finding {
	var all []Finding
	for _, k := range w.places {
		f := Finding{Place: k.Name()}
		f.Mark, f.Found, f.Err = w.read(ctx, k, ledger)
		all = append(all, f)
	}
	return all
}

// Check returns a [*BehindError] where a ledger lacks the entry of the mark.
func (f Finding) Check(ctx context.Context, p history.Past) error {
	return confirm(ctx, f.Place, f.Mark, p)
}

// read returns the mark that a place keeps.
func (w *Witness) read(ctx context.Context, k *keeping, ledger string) (m Mark, found bool, err error) {
	kept, err := k.Read(ctx, ledger)
	if err != nil {
		return m, false, fmt.Errorf("the mark of the ledger on %s: %w", k.Name(), err)
	}
	k.kept = kept
	if kept == nil {
		return m, false, nil
	}
	if m, err = unseal(w.key, ledger, kept); err != nil {
		return m, false, fmt.Errorf("the mark of the ledger on %s: %w", k.Name(), err)
	}
	return m, true, nil
}

// Mark marks the ledger as it is now at all places. It fails if a place cannot.
func (w *Witness) Mark(ctx context.Context, l Ledger) error {
	if err := w.prepare(ctx, l); err != nil {
		return err
	}
	for _, k := range w.places {
		if err := w.write(ctx, k); err != nil {
			return fmt.Errorf("marking the ledger on %s: %w", k.Name(), err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.written = w.now()
	return nil
}

// cause is what the log tells of an error: of one that a server tells its SQLSTATE alone, in no words of its own.
func cause(err error) string {
	var theirs interface{ SQLState() string }
	if errors.As(err, &theirs) {
		return "SQLSTATE " + theirs.SQLState()
	}
	return err.Error()
}

// Tick looks for other ledgers of the same secret, writes the mark of the tick before at all places, and then makes the next one:
// when it is written follows from the clock alone. A failure is logged, and it is tried again at the next tick.
func (w *Witness) Tick(ctx context.Context, l Ledger) {
	written := false
	for _, k := range w.places {
		_, err := w.lookAt(ctx, k, w.next.Ledger)
		if err == nil {
			err = w.write(ctx, k)
		}
		written = written || err == nil
		if failed := err != nil; failed != k.failed && ctx.Err() == nil {
			k.failed = failed
			if failed {
				w.log.Error("the ledger could not be marked", "place", k.Name(), "cause", cause(err))
			} else {
				w.log.Info("the ledger is marked again", "place", k.Name())
			}
		}
		if errors.Is(err, ErrOther) || errors.Is(err, ErrSecond) {
			w.end(err)
		}
	}
	if written {
		w.mu.Lock()
		w.written = w.now()
		w.mu.Unlock()
	}
	_ = w.prepare(ctx, l) // a ledger that is not available says so itself, and has nothing new
}

// Interval is how long after a tick the next one comes: it follows from the number of budgets.
func (w *Witness) Interval() time.Duration { return interval(w.next) }

func interval(m Mark) time.Duration { return max(shortest, time.Duration(len(m.Balances))*perBudget) }

func (w *Witness) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		w.log.Error("nothing is charged any more", "cause", err)
	}
}

// Err is nil as long as marks are written: charges may go on.
func (w *Witness) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && w.now().Sub(w.written) > Patience {
		return fmt.Errorf("%w: %w", accountant.ErrUnavailable, ErrLate)
	}
	if w.err != nil {
		return fmt.Errorf("%w: %w", accountant.ErrUnavailable, w.err)
	}
	return nil
}

// prepare makes the mark for the next tick.
func (w *Witness) prepare(ctx context.Context, l Ledger) error {
	m, err := l.Durable(ctx)
	if err != nil {
		return err
	}
	w.next = m
	w.sealed, err = seal(w.key, m)
	return err
}

// write writes the mark at a place. Where another one is than it was left, it is looked at.
func (w *Witness) write(ctx context.Context, k *keeping) error {
	sealed := w.sealed
	for range busyTries {
		done, err := k.Write(ctx, w.next.Ledger, k.kept, sealed)
		if err != nil {
			return err
		}
		if done {
			k.kept = sealed
			return w.reseal()
		}
		if sealed, err = w.settle(ctx, k); err != nil {
			return err
		}
	}
	return errBusy
}

// busyTries is how often a mark is written that another process writes too: more often than there are processes that start, or
// tick, at one moment.
const busyTries = 32

// errBusy says that a mark changes while it is being written: another process writes it too.
var errBusy = errors.New("witness: the mark changes meanwhile")

// reseal seals the mark anew, so that the same one is written in other bytes at the next place and tick.
func (w *Witness) reseal() (err error) {
	w.sealed, err = seal(w.key, w.next)
	return err
}

// settle returns the mark to be kept by a place that keeps another than it was left with: a later mark of another
// process that writes to the same ledger is kept, and is a copy's where none does. A mark that is gone, or earlier,
// was so by a restore of the place.
func (w *Witness) settle(ctx context.Context, k *keeping) ([]byte, error) {
	m, found, err := w.read(ctx, k, w.next.Ledger)
	switch {
	case err != nil:
		return nil, err
	case found && m.Seq > w.next.Seq && !w.shared, found && m.Seq == w.next.Seq && m.Head != w.next.Head:
		return nil, ErrOther
	case found && m.Seq > w.next.Seq:
		return seal(w.key, m)
	case !w.shared && !k.failed:
		w.log.Warn("the mark of the ledger was gone or an earlier one, and is written anew", "place", k.Name())
	}
	return seal(w.key, w.next)
}
