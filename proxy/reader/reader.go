package reader

import (
	"cmp"
	"context"
	"errors"
	"time"

	"dpproxy/pgerr"
	"dpproxy/planner"
)

// A Reader lets the statements of analysts read, in turn.
type Reader struct {
	data  *Data
	queue *queue
	// memory is how many bytes the rows of one read may take.
	memory int
}

// New returns the Reader of a protected database.
func New(data *Data, sharing Sharing) *Reader {
	memory := cmp.Or(sharing.Memory, DefaultMemory) / max(data.sessions, 1)
	return &Reader{data: data, queue: newQueue(data.sessions, sharing), memory: max(memory, leastMemory)}
}

// leastMemory is the smallest memory of one read.
const leastMemory = 1 << 20

// Next returns a Reader of data, which has the same sessions. The statements of both Readers wait in one queue.
func (r *Reader) Next(data *Data) *Reader {
	return &Reader{data: data, queue: r.queue, memory: r.memory}
}

// Open waits for the turn of a statement, and takes a session for it before the charge, so that an unreachable database costs nothing. It
// sends nothing to the database for the statement.
//
// It waits as long as the analyst's own timeout allows (0: no limit). If the timeout is over or ctx has ended, its error is a *CutError.
func (r *Reader) Open(ctx context.Context, analyst string, plan *planner.Plan, timeout time.Duration) (*Reading, error) {
	if t, off := r.data.TurnedOff(plan.Relations); off {
		return nil, r.data.SchemaChanged(t, plan.Untold)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, ErrTimeout)
		defer cancel()
	}
	if err := r.queue.enter(ctx, analyst); err != nil {
		return nil, openError(ctx, err)
	}
	taken := false
	leave := func() { r.queue.leave(analyst) }
	defer func() {
		if !taken { // also in a panic
			leave()
		}
	}()
	c, err := r.data.connect(ctx, plan, leave)
	if err != nil {
		return nil, openError(ctx, err)
	}
	taken = true
	return &Reading{c: c, plan: plan, memory: r.memory}, nil
}

const nothingCharged = "Nothing was charged. Try again later."

// openError says why a statement has no session.
func openError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, errQueueFull):
		return pgerr.New(pgerr.TooManyConnections, "too many statements are waiting for the protected database").
			WithHint(nothingCharged)
	case cause != nil:
		return &CutError{By: cause}
	}
	return unreached()
}
