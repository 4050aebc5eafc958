package wire

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/frugal"
	"dpproxy/pgerr"
)

// errRelay says that a statement is better refused by Postgres itself.
var errRelay = errors.New("wire: relay the statement")

// A runner finds the statements that the handler answers, has it work on them, and says why
// one does not run. It writes to the client only where the mirror owes nothing.
type runner struct {
	session   *Session
	client    *peer
	pipeline  *pipeline
	questions *questions
	canceler  *canceler
	handler   Handler // nil: nothing is intercepted
	limits    Limits
	// widened is the text that stands for that of the message, or of the statement that is bound; nil for the client's own.
	widened *Widened
	// watched is closed when the client has sent more than it had when a statement began, or has gone;
	// nil: nobody looks. Until then nothing else may read from the client.
	watched chan struct{}
	// patience begins to watch; nil before the first statement.
	patience *frugal.Alarm
}

func (r *runner) newAsker() *Asker { return &Asker{questions: r.questions} }

// widen asks the handler for the text that stands for a message's.
func (r *runner) widen(text string) (string, error) {
	r.widened = nil
	h, ok := r.handler.(Widener)
	if !ok || len(text) > r.limits.SQLBytes {
		return text, nil
	}
	w, err := h.Widen(r.session, text, r.ask)
	if w == nil || err != nil || len(w.SQL) > r.limits.SQLBytes {
		return text, err
	}
	r.widened = w
	return w.SQL, nil
}

// ask asks the client's session for one value. Of a session that skips to the next Sync it is empty: nothing
// runs there.
func (r *runner) ask(sql string) (string, error) {
	if ready, err := r.questions.settle(); err != nil || !ready {
		return "", err
	}
	res, err := r.newAsker().Query(r.session.ctx, sql, nil, nil, nil, nil)
	if err != nil || len(res.Rows) != 1 || len(res.Rows[0]) != 1 {
		return "", err
	}
	return string(res.Rows[0][0]), nil
}

// screen asks the handler about a text. It returns nothing for a text that is
// relayed as it is, and the ErrorResponse for one that is refused.
func (r *runner) screen(text string) (statements []Statement, refused []byte) {
	if len(text) > r.limits.SQLBytes {
		return nil, encodeError(pgerr.New(pgerr.StatementTooComplex,
			"the statement is longer than %d bytes", r.limits.SQLBytes), "", 0)
	}
	if r.handler == nil {
		return nil, nil
	}
	statements, err := r.handler.Screen(r.session, text)
	if err != nil {
		return nil, r.errorMessage(err, text, 0)
	}
	for _, st := range statements {
		if st.Run != nil {
			return statements, nil
		}
	}
	return nil, nil
}

// attended works on a statement. A cancel request, a client that goes away and the end of
// the session end the work's context.
func (r *runner) attended(a *Asker, work func(ctx context.Context) (Rewrite, error)) (Rewrite, error) {
	ctx, end := context.WithCancelCause(r.session.ctx)
	defer end(nil)
	r.canceler.running.set(end)
	unwatch := r.watchClient()
	rewrite, err := work(ctx)
	unwatch()
	r.canceler.running.set(nil)
	if ctx.Err() != nil {
		err = canceledError(context.Cause(ctx), err)
	}
	if a.failed != nil && (err == nil || errors.Is(err, errPipeline)) {
		err = a.failed
	}
	return rewrite, err
}

// canceledError is the outcome of a Run whose context has ended. A Run that
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

// unwatched is how long a statement runs before its client is watched: most take less, and their client is read
// from next.
const unwatched = 20 * time.Millisecond

// watchClient ends the session when the client goes away while nobody reads from it. A client that
// waits for the answer is watched until it sends its next message, which nothing has to interrupt.
func (r *runner) watchClient() (stop func()) {
	if r.watched != nil && !isClosed(r.watched) {
		return func() {}
	}
	pipelined := r.client.in.ready()
	r.client.in.release()
	r.watched = nil
	if r.patience == nil {
		r.patience = frugal.NewAlarm(func() { r.watched = r.watch() })
	}
	r.patience.Set(unwatched)
	return func() {
		r.patience.Clear()
		if !pipelined || r.watched == nil {
			return
		}
		// A connection that takes no deadline is closed: the read has ended, and so will the next one.
		_ = r.client.conn.SetReadDeadline(time.Unix(1, 0))
		<-r.watched
		_ = r.client.conn.SetReadDeadline(time.Time{})
		r.watched = nil
	}
}

// watch waits for what the client does next. It closes watched then.
func (r *runner) watch() (watched chan struct{}) {
	buffer := r.client.in.r
	watched = make(chan struct{})
	go func() {
		defer close(watched)
		defer r.session.recover("watch")
		_, err := buffer.Peek(buffer.Buffered() + 1)
		r.canceler.waiting.Store(false)
		if err != nil && !isTimeout(err) && buffer.Buffered() < buffer.Size() {
			r.session.end(errClientGone)
		}
	}()
	return watched
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// errorMessage returns the ErrorResponse for an error of Screen or Run. It is nil
// if the client has its answer, or the session is ending.
func (r *runner) errorMessage(err error, text string, offset int) []byte {
	var own *pgerr.Error
	var mirror *MirrorError
	switch {
	case errors.Is(err, errPipeline) || r.session.ctx.Err() != nil:
		return nil
	case errors.Is(err, errClientGone):
		return nil
	case errors.As(err, &own):
		return errorEdit{widened: r.widened}.edit(encodeError(own, text, offset))
	case errors.As(err, &mirror) && mirror.message != nil:
		return errorEdit{widened: r.widened}.edit(mirror.message)
	}
	r.session.log.Error("a statement failed inside", "error", err)
	return encodeError(internalError(), "", 0)
}

// ending returns the error that ends the session, or nil if none does.
func (r *runner) ending(err error) error {
	if r.session.ctx.Err() != nil {
		return context.Cause(r.session.ctx)
	}
	if errors.Is(err, errClientGone) {
		return err
	}
	return nil
}

// tell writes to the client where the mirror has nothing to say.
func (r *runner) tell(message []byte) error {
	if r.client.write(message) != nil {
		return errClientGone
	}
	return nil
}

// refuse raises a refusal where the pipeline is: the requests behind it are skipped up to
// the next Sync, and a transaction fails.
func (r *runner) refuse(message []byte) error {
	f := newRefusal(message)
	s := newScript(r.questions.name+"r", hide)
	s.parse(f.sql(), nil, nil)
	s.bind(s.name, &pgproto3.Bind{}, &refusalReply{replyKind: replyBind, refusal: f})
	return r.pipeline.sendScript(s)
}

// refuseQuery raises a refusal in place of a Query.
func (r *runner) refuseQuery(message []byte) error {
	f := newRefusal(message)
	return r.pipeline.sendMessage(&pgproto3.Query{String: f.sql()}, &refusalReply{replyKind: replyQuery, refusal: f})
}
