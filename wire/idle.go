package wire

import (
	"sync"
	"sync/atomic"
	"time"

	"dpproxy/pgerr"
)

var (
	errIdle            = fatal(pgerr.IdleSession, "terminating connection due to idle-session timeout")
	errIdleTransaction = fatal(pgerr.IdleTransaction, "terminating connection due to idle-in-transaction timeout")
)

// idleWatch ends a session that asks for nothing: after a while, or at once when the server
// stops. The mirror's own timeouts are settings, which a client can turn off.
type idleWatch struct {
	session     *Session
	pipeline    *pipeline
	outside     time.Duration // that a session may be idle, outside a transaction
	transaction time.Duration // in one

	working  atomic.Bool // an intercepted statement is not yet sent to the mirror
	draining atomic.Bool // the server stops

	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration
	cause error
}

func newIdleWatch(s *Session, p *pipeline, l Limits) *idleWatch {
	return &idleWatch{session: s, pipeline: p, outside: l.IdleTime, transaction: l.IdleTransaction}
}

func (w *idleWatch) isIdle() bool { return w.pipeline.idle() && !w.working.Load() }

// ready starts the clock when the mirror is ready for a request. Status is that
// of the ReadyForQuery.
func (w *idleWatch) ready(status byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.cause = w.transaction, errIdleTransaction
	if status == 'I' {
		w.limit, w.cause = w.outside, errIdle
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(w.limit, w.expire)
	} else {
		w.timer.Reset(w.limit)
	}
}

// expire ends the session unless it is at work.
func (w *idleWatch) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.session.ctx.Err() != nil:
	case w.isIdle():
		w.session.end(w.cause)
	default:
		w.timer.Reset(w.limit)
	}
}

func (w *idleWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
}

// drain ends the session when the statement in progress is done.
func (w *idleWatch) drain() {
	w.draining.Store(true)
	w.endIfDrained()
}

func (w *idleWatch) endIfDrained() {
	if w.draining.Load() && w.isIdle() {
		w.session.end(errShutdown)
	}
}
