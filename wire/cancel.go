package wire

import (
	"context"
	"errors"
	"sync"
	"time"

	"dpproxy/pgerr"
)

const (
	cancelTime     = 5 * time.Second // bounds a cancel request to the mirror, and how long they are repeated
	cancelPause    = 20 * time.Millisecond
	cancelAttempts = 5
)

var errCanceled = errors.New("wire: a cancel request came")

// cancel stops what the session does now. It returns when the mirror has taken
// the request, if one is sent. Until then no further request of the client goes to
// the mirror, and where the mirror owes nothing none is sent: so a request that
// comes late never hits the next statement.
func (s *Session) cancel(cause error) {
	s.catchUp()
	s.canceling.Lock()
	defer s.canceling.Unlock()
	if !s.running.stop(cause) && !s.pipeline.idle() {
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

// stopMirror cancels until the mirror owes nothing, or what it owes is not worth more:
// it may wait for a Flush that will not come. A private question is canceled to its end.
func (s *Session) stopMirror() {
	for range cancelAttempts {
		if s.pipeline.idle() {
			return
		}
		s.cancelMirror()
		<-time.After(cancelPause) //nolint:forbidigo // a pause for another program, on no clock of ours
	}
	s.asking.Lock()
	s.asking.Unlock() //nolint:staticcheck // it waits for cancelQuestion
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

// run calls Run.
func (s *Session) run(st Statement, m *Asker, b BindRequest) (Rewrite, error) {
	return s.attended(m, func(ctx context.Context) (Rewrite, error) { return st.Run(ctx, m, b) })
}

// attended works on a statement. A cancel request, a client that goes away and the end of
// the session end the work's context.
func (s *Session) attended(m *Asker, work func(ctx context.Context) (Rewrite, error)) (Rewrite, error) {
	ctx, end := context.WithCancelCause(s.ctx)
	defer end(nil)
	s.running.set(end)
	unwatch := s.watchClient()
	rewrite, err := work(ctx)
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
