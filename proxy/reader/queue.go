package reader

import (
	"context"
	"errors"
	"sync"
)

// Sharing says how the statements of analysts share the sessions on the protected database. The default replaces a zero.
type Sharing struct {
	AnalystSessions int // sessions of one analyst at a time; default all
	Waiting         int // statements that wait for a session; default no limit
	AnalystWaiting  int // waiting statements of one analyst; default as Waiting
	Memory          int // bytes that the rows of all reads may take in dpproxy; default DefaultMemory
}

// DefaultMemory is a gigabyte.
const DefaultMemory = 1 << 30

var errQueueFull = errors.New("reader: too many statements wait for the protected database")

// A queue lets as many statements through as there are sessions on the protected database. A free session goes to the analyst who has the
// fewest sessions, and among several to the analyst whose last turn is longest ago. So the many statements of one analyst do not keep the
// few statements of another waiting.
type queue struct {
	sessions int
	limits   Sharing

	mu       sync.Mutex
	running  int
	waiting  int
	clock    uint64                // counts turns and arrivals of analysts
	analysts map[string]*allotment // by analyst; only analysts who have a session or wait for one
}

// An allotment is one analyst's share of the queue.
type allotment struct {
	running int
	served  uint64  // when the analyst was last served, or came
	waiting []*turn // oldest first
}

// A turn is the place of a statement that waits.
type turn struct {
	come chan struct{} // closed when the statement has a session
}

func newQueue(sessions int, limits Sharing) *queue {
	if limits.AnalystSessions <= 0 {
		limits.AnalystSessions = sessions
	}
	if limits.AnalystWaiting <= 0 {
		limits.AnalystWaiting = limits.Waiting
	}
	return &queue{sessions: sessions, limits: limits, analysts: map[string]*allotment{}}
}

// enter waits for the turn of a statement; leave must follow unless enter fails. It fails with errQueueFull, or with the cause of the end
// of ctx.
func (q *queue) enter(ctx context.Context, analyst string) error {
	t, err := q.arrive(analyst)
	if err != nil {
		return err
	}
	select {
	case <-t.come:
		return nil
	case <-ctx.Done():
		q.abandon(analyst, t)
		return context.Cause(ctx)
	}
}

func (q *queue) arrive(analyst string) (*turn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.analysts[analyst]
	if s == nil {
		q.clock++
		s = &allotment{served: q.clock} // after the analysts who wait already
	}
	// If a session is free for this analyst, no waiting statement can have it: so a full queue is no reason to refuse.
	if !q.free(s) && q.full(s) {
		return nil, errQueueFull
	}
	q.analysts[analyst] = s
	q.waiting++
	t := &turn{come: make(chan struct{})}
	s.waiting = append(s.waiting, t)
	q.dispatch()
	return t, nil
}

// free reports whether there is a session for a statement of an analyst.
func (q *queue) free(s *allotment) bool {
	return q.running < q.sessions && s.running < q.limits.AnalystSessions
}

func (q *queue) full(s *allotment) bool {
	return q.limits.Waiting > 0 && q.waiting >= q.limits.Waiting ||
		q.limits.AnalystWaiting > 0 && len(s.waiting) >= q.limits.AnalystWaiting
}

// dispatch gives away free sessions.
func (q *queue) dispatch() {
	for s := q.next(); s != nil; s = q.next() {
		t := s.waiting[0]
		s.waiting = s.waiting[1:]
		q.clock++
		s.served = q.clock
		s.running++
		q.running++
		q.waiting--
		close(t.come)
	}
}

// next returns the analyst whose turn it is, or nil.
func (q *queue) next() *allotment {
	var best *allotment
	for _, s := range q.analysts {
		if len(s.waiting) == 0 || !q.free(s) {
			continue
		}
		if best == nil || s.running < best.running || s.running == best.running && s.served < best.served {
			best = s
		}
	}
	return best
}

// leave gives back the session of a statement.
func (q *queue) leave(analyst string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.analysts[analyst]
	s.running--
	q.running--
	q.forget(analyst, s)
	q.dispatch()
}

// abandon removes a statement that no longer waits.
func (q *queue) abandon(analyst string, t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.analysts[analyst]
	for i, other := range s.waiting {
		if other == t {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			q.waiting--
			q.forget(analyst, s)
			return
		}
	}
	// Its turn came meanwhile.
	s.running--
	q.running--
	q.forget(analyst, s)
	q.dispatch()
}

func (q *queue) forget(analyst string, s *allotment) {
	if s.running == 0 && len(s.waiting) == 0 {
		delete(q.analysts, analyst)
	}
}
