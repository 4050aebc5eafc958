package wire

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"dpproxy/pgerr"
)

const (
	cancelTime     = 5 * time.Second // bounds a cancel request to the mirror
	cancelPause    = 20 * time.Millisecond
	cancelAttempts = 5
)

var errCanceled = errors.New("wire: a cancel request came")

// cancelKey is what a client must show to cancel.
type cancelKey struct{ pid, secret uint32 }

// sessions are those that are logged in, by the key that cancels them.
type sessions struct {
	mu    sync.Mutex
	byKey map[cancelKey]*Session
}

// add gives the session a key of its own.
func (r *sessions) add(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var b [8]byte
		rand.Read(b[:])
		k := cancelKey{binary.BigEndian.Uint32(b[:]) >> 1, binary.BigEndian.Uint32(b[4:])}
		if k.pid != 0 && r.byKey[k] == nil {
			s.key, r.byKey[k] = k, s
			return
		}
	}
}

func (r *sessions) remove(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, s.key)
}

func (r *sessions) find(k cancelKey) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey[k]
}

func (r *sessions) all() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Session, 0, len(r.byKey))
	for _, s := range r.byKey {
		out = append(out, s)
	}
	return out
}

// cancel stops what the session does now. It returns when the mirror has taken
// the request, if one is sent, so that a later statement is not hit by it.
func (s *Session) cancel(cause error) {
	if !s.running.stop(cause) {
		s.cancelMirror()
	}
}

// cancelMirror stops what the mirror does now.
func (s *Session) cancelMirror() {
	ctx, done := context.WithTimeout(context.WithoutCancel(s.ctx), cancelTime)
	defer done()
	if err := s.backend.CancelRequest(ctx); err != nil {
		s.log.Warn("a cancel request did not reach the mirror")
	}
}

// stopMirror cancels until the mirror owes nothing. One request can be lost: the
// mirror ignores it if it comes before the statement.
func (s *Session) stopMirror() {
	for range cancelAttempts {
		if s.pipeline.idle() {
			return
		}
		s.cancelMirror()
		<-time.After(cancelPause) //nolint:forbidigo // a pause for another program, on no clock of ours
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

func (r *running) set(end context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = end
}

// run calls Run. A cancel request, a client that goes away and the end of the
// session end its context.
func (s *Session) run(st Statement, m *Mirror, b Bound) (Rewrite, error) {
	ctx, end := context.WithCancelCause(s.ctx)
	defer end(nil)
	s.running.set(end)
	unwatch := s.watchClient()
	rewrite, err := st.Run(ctx, m, b)
	unwatch()
	s.running.set(nil)
	if ctx.Err() != nil {
		err = canceledError(context.Cause(ctx), err)
	}
	if m.failed != nil && (err == nil || errors.Is(err, errPipeline)) {
		err = m.failed
	}
	return rewrite, err
}

// canceledError is what a Run whose context has ended comes to. A Run that
// finished in spite of it stands: its answer is paid for.
func canceledError(cause, err error) error {
	var own *pgerr.Error
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.Is(cause, errCanceled):
		return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	}
	return cause
}

// watchClient ends the session when the client goes away while nobody reads from it.
func (s *Session) watchClient() (stop func()) {
	s.client.in.release()
	r := s.client.in.r
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.recover("watch")
		_, err := r.Peek(r.Buffered() + 1)
		if err != nil && !isTimeout(err) && r.Buffered() < r.Size() {
			s.end(errClientGone)
		}
	}()
	return func() {
		// A connection that takes no deadline is closed: the read has ended, and so will the next one.
		_ = s.client.conn.SetReadDeadline(time.Unix(1, 0))
		<-done
		_ = s.client.conn.SetReadDeadline(time.Time{})
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
