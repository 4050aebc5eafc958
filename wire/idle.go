package wire

import (
	"sync"
	"time"

	"dpproxy/pgerr"
)

var (
	errIdle            = fatal(pgerr.IdleSession, "terminating connection due to idle-session timeout")
	errIdleTransaction = fatal(pgerr.IdleTransaction, "terminating connection due to idle-in-transaction timeout")
)

// idleTimer ends a session that asks for nothing. The mirror's own timeouts are
// settings, which a client can turn off.
type idleTimer struct {
	s     *Session
	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration
	cause error
}

func newIdleTimer(s *Session) *idleTimer { return &idleTimer{s: s} }

// ready starts the clock when the mirror is ready for a request. Status is that
// of the ReadyForQuery.
func (t *idleTimer) ready(status byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit, t.cause = t.s.limits.IdleTransaction, errIdleTransaction
	if status == 'I' {
		t.limit, t.cause = t.s.limits.IdleTime, errIdle
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(t.limit, t.expire)
	} else {
		t.timer.Reset(t.limit)
	}
}

// expire ends the session unless it is at work.
func (t *idleTimer) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.s.ctx.Err() != nil:
	case t.s.pipeline.idle() && !t.s.working.Load():
		t.s.end(t.cause)
	default:
		t.timer.Reset(t.limit)
	}
}

func (t *idleTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer.Stop()
}
