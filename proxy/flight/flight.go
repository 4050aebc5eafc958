package flight

import (
	"context"
	"slices"
	"sync"

	"dpproxy/answers"
)

// A Board has the flights of one dpproxy. It is safe for concurrent use.
type Board struct {
	mu      sync.Mutex
	flights map[answers.Key]*Flight
	// alone counts, by analyst, the flights whose clients have gone.
	alone map[string]int

	stopping context.Context //nolint:containedctx // it is the life of the flights whose clients have gone
	stop     context.CancelFunc
}

// NewBoard returns a Board without flights.
func NewBoard() *Board {
	b := &Board{flights: map[answers.Key]*Flight{}, alone: map[string]int{}}
	b.stopping, b.stop = context.WithCancel(context.Background())
	return b
}

// A Flight is a read under way. Its releases will be remembered under its keys.
type Flight struct {
	board *Board
	keys  []answers.Key
	over  chan struct{} // closed when how is final
	how   Ending

	waiting int
}

// An Ending says how a flight has ended, in a word that other processes understand.
type Ending string

// The endings of flights. With all but the first, the statements that wait are refused as the flight was.
const (
	// Landed: its releases are remembered, or nothing was paid for, or the read ended with its client. A waiting statement looks again. If
	// there is no answer, one of the waiting statements draws it.
	Landed      Ending = ""
	Failed      Ending = "failed"      // the read failed
	Interrupted Ending = "interrupted" // the read was interrupted, for no reason in its rows
	TooLong     Ending = "too long"    // the policy's limit ended the read
	Unavailable Ending = "unavailable" // the protected database did not take the read, and nothing was charged
	Unrecorded  Ending = "unrecorded"  // the ledger did not take a further round
)

// Find returns a flight that draws a release under one of the keys, nil if there is none.
func (b *Board) Find(keys []answers.Key) *Flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(keys)
}

func (b *Board) find(keys []answers.Key) *Flight {
	for _, key := range keys {
		if f := b.flights[key]; f != nil {
			return f
		}
	}
	return nil
}

// Begin begins a flight with some keys, unless another flight has one of the keys. Then it returns the other flight.
func (b *Board) Begin(keys []answers.Key) (mine, other *Flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.find(keys); other != nil {
		return nil, other
	}
	f := &Flight{board: b, keys: slices.Clone(keys), over: make(chan struct{})}
	for _, key := range keys {
		b.flights[key] = f
	}
	return f, nil
}

// End ends a flight. It must be called once. A nil flight has ended.
func (f *Flight) End(how Ending) {
	if f == nil {
		return
	}
	f.board.mu.Lock()
	defer f.board.mu.Unlock()
	for _, key := range f.keys {
		delete(f.board.flights, key)
	}
	f.how = how
	close(f.over)
}

// Wait waits until the flight has ended. Its error is the cause of the end of ctx.
func (f *Flight) Wait(ctx context.Context) (Ending, error) {
	f.waits(1)
	defer f.waits(-1)
	select {
	case <-f.over:
		return f.how, nil
	case <-ctx.Done():
		return Landed, context.Cause(ctx)
	}
}

func (f *Flight) waits(n int) {
	f.board.mu.Lock()
	defer f.board.mu.Unlock()
	f.waiting += n
}

// Waiting counts the flights, and the statements that wait for them.
func (b *Board) Waiting() (flights, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[*Flight]bool{}
	for _, f := range b.flights {
		if !seen[f] {
			seen[f] = true
			waiting += f.waiting
		}
	}
	return len(seen), waiting
}

// Leave notes that the client of a flight has gone, and reports whether the flight goes on: at most so many flights of one analyst do.
func (b *Board) Leave(analyst string, most int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.alone[analyst] >= most || b.stopping.Err() != nil {
		return false
	}
	b.alone[analyst]++
	return true
}

// Return undoes a [Board.Leave] when the flight has ended.
func (b *Board) Return(analyst string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.alone[analyst]--; b.alone[analyst] == 0 {
		delete(b.alone, analyst)
	}
}

// Stopping returns a context that ends when flights without clients must end.
func (b *Board) Stopping() context.Context { return b.stopping }

// Stop ends all flights whose clients have gone, and all flights whose clients go later.
func (b *Board) Stop() { b.stop() }
