package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	cancelTime     = 5 * time.Second // bounds a cancel request to the mirror, and how long they are repeated
	cancelPause    = 20 * time.Millisecond
	cancelAttempts = 5

	catchUpPause = 200 * time.Microsecond
	catchUpTries = 100 // of pauses: 20 ms
)

var errCanceled = errors.New("wire: a cancel request came")

// A canceler stops the work of a session.
type canceler struct {
	session  *Session
	pipeline *pipeline
	backend  *pgconn.PgConn // hijacked
	client   net.Conn

	running running
	waiting atomic.Bool // all that was read of the client was passed on
	// canceling is held while a cancel request of the client's is under way.
	canceling sync.Mutex
}

// cancel stops the session's present work. It returns when the mirror has taken
// the request, if one is sent. Until then no further request of the client goes to
// the mirror, and where the mirror owes nothing none is sent: so a request that
// comes late never hits the next statement.
func (c *canceler) cancel(cause error) {
	c.catchUp()
	c.canceling.Lock()
	defer c.canceling.Unlock()
	if !c.running.stop(cause) && !c.pipeline.idle() {
		c.cancelMirror()
	}
}

// await waits until no cancel request is under way.
func (c *canceler) await() {
	c.canceling.Lock()
	c.canceling.Unlock() //nolint:staticcheck // to have had it is enough
}

// cancelMirror stops the mirror's present work.
func (c *canceler) cancelMirror() {
	ctx, done := context.WithTimeout(context.WithoutCancel(c.session.ctx), cancelTime)
	defer done()
	if err := c.backend.CancelRequest(ctx); err != nil {
		c.session.log.Warn("a cancel request did not reach the mirror")
	}
}

// catchUp waits until the session has passed on the requests that its client sent before a
// cancel request, which comes on a connection of its own and can be the faster one. A Run in
// progress needs no wait. A client that waits for the end of its cancel request, as
// libpq does, has sent nothing behind it that could be meant.
func (c *canceler) catchUp() {
	quiet := 0
	for range catchUpTries {
		if quiet == 2 || c.running.active() {
			return
		}
		if c.waiting.Load() && !arrived(c.client) {
			quiet++ // twice, since the bytes may be on their way from the one to the other
		} else {
			quiet = 0
		}
		<-time.After(catchUpPause) //nolint:forbidigo // a pause for another goroutine's read, which tells nobody
	}
}

// running is the Run in progress, if any.
type running struct {
	mu  sync.Mutex
	end context.CancelCauseFunc
}

// stop ends the Run's context. It reports whether there is a Run.
func (r *running) stop(cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end(cause)
	}
	return r.end != nil
}

func (r *running) active() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end != nil
}

func (r *running) set(end context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = end
}
