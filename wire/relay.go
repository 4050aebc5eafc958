package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/frugal"
)

// A relay is the life of a session: two connections, and a goroutine for each direction
// between them.
type relay struct {
	session   *Session
	client    *peer
	mirror    *peer
	pipeline  *pipeline
	canceler  *canceler
	questions *questions
	idle      *idleWatch
	requests  *requests
	replies   *replies
	leaving   atomic.Bool // the client has said good-bye
	// Sessions sets them when the relay becomes known.
	key     cancelKey
	process uint32 // of the mirror
}

// newRelay joins a client that has logged in to a mirror session of its own. The backend is
// hijacked, and serves for cancel requests alone.
func newRelay(
	c *Config, log *slog.Logger, login Login, client *peer, backend *pgconn.PgConn, h *pgconn.HijackedConn, known *senders,
) *relay {
	s := newSession(login, log, h.ParameterStatuses)
	r := &relay{session: s, client: client, mirror: newPeer(frugal.Direct(h.Conn), 0)}
	r.pipeline = newPipeline(r.mirror, c.Limits.Pipeline)
	r.canceler = &canceler{session: s, pipeline: r.pipeline, backend: backend, client: client.conn}
	r.questions = &questions{session: s, pipeline: r.pipeline, canceler: r.canceler, name: "_dp" + rand.Text()}
	r.idle = newIdleWatch(s, r.pipeline, c.Limits)
	r.requests = &requests{idle: r.idle, runner: runner{
		session: s, client: client, pipeline: r.pipeline, questions: r.questions, canceler: r.canceler,
		handler: c.Handler, limits: c.Limits,
	}}
	r.requests.preparer, _ = c.Handler.(Preparer)
	r.replies = &replies{
		session: s, mirror: r.mirror.in, client: client, pipeline: r.pipeline,
		idle: r.idle, senders: known, limits: c.Limits,
	}
	r.replies.adviser, _ = c.Handler.(Adviser)
	return r
}

// serve relays until either side ends or running does.
func (r *relay) serve(running context.Context) {
	defer r.close()
	s := r.session
	s.log.Info("logged in", "remote", remote(r.client.conn))
	stop := context.AfterFunc(running, func() { s.end(context.Cause(running)) })
	defer stop()
	r.idle.ready('I')
	defer r.idle.stop()
	if r.client.write(r.greeting()) != nil || r.client.flush() != nil {
		return
	}
	var both sync.WaitGroup
	ended := make(chan struct{}) // the replies have
	silent := make(chan struct{})
	both.Go(func() {
		defer close(silent)
		r.relayRequests(ended)
		discard(r.client.conn)
	})
	both.Go(func() { r.relayReplies(ended) })
	<-s.ctx.Done()
	if cause := context.Cause(s.ctx); !errors.Is(cause, errMirrorLost) {
		r.stopMirror()
	}
	r.sayWhy(context.Cause(s.ctx), silent)
	r.close()
	both.Wait()
}

// greeting is the first that a client gets of its session.
func (r *relay) greeting() []byte {
	var out []byte
	for _, name := range r.session.parameterNames() {
		out = encode(out, &pgproto3.ParameterStatus{Name: name, Value: r.session.Parameter(name)})
	}
	out = encode(out, &pgproto3.BackendKeyData{ProcessID: r.key.pid, SecretKey: r.key.secret})
	return encode(out, &pgproto3.ReadyForQuery{TxStatus: 'I'})
}

func (r *relay) relayRequests(repliesEnded <-chan struct{}) {
	defer r.session.recover("requests")
	err := r.requests.relay()
	if errors.Is(err, errTerminate) {
		r.finish(repliesEnded)
	}
	r.session.end(err)
}

// finish passes a good-bye on and lets the mirror do the work asked for before it.
func (r *relay) finish(repliesEnded <-chan struct{}) {
	r.leaving.Store(true)
	if r.pipeline.sendUnanswered([]byte{'X', 0, 0, 0, 4}) == nil && r.pipeline.flush() == nil {
		select {
		case <-repliesEnded:
		case <-r.session.ctx.Done():
		}
	}
}

func (r *relay) relayReplies(ended chan<- struct{}) {
	defer r.session.recover("replies")
	err := r.replies.relay()
	close(ended)
	if !r.leaving.Load() {
		r.session.end(err)
	}
}

// stopMirror cancels until the mirror owes nothing, or nothing that is worth more:
// it may wait for a Flush that will not come. A private question is canceled to its end.
func (r *relay) stopMirror() {
	for range cancelAttempts {
		if r.pipeline.idle() {
			return
		}
		r.canceler.cancelMirror()
		<-time.After(cancelPause) //nolint:forbidigo // a pause for another program, on no clock of ours
	}
	r.questions.await()
}

// sayWhy tells the client why its session ends, if it does not know. It returns
// when the client has gone silent: closing earlier could lose the message.
func (r *relay) sayWhy(cause error, silent <-chan struct{}) {
	s := r.session
	f, ok := errors.AsType[*fatalError](cause)
	if !ok {
		s.log.Info("logged out")
		return
	}
	level := slog.LevelWarn
	if errors.Is(cause, errShutdown) || errors.Is(cause, errIdle) || errors.Is(cause, errIdleTransaction) {
		level = slog.LevelInfo
	}
	s.log.Log(s.ctx, level, "a session was ended", "code", f.told.Code.String())
	// A client that does not read must not hold the session.
	timer := time.AfterFunc(lingerTime, func() { r.client.conn.Close() })
	defer timer.Stop()
	if r.client.write(encodeFatal(f.told)) == nil && r.client.flush() == nil {
		closeWrite(r.client.conn)
		<-silent
	}
}

// close ends both connections and everything that waits for them. It may be
// called twice.
func (r *relay) close() {
	r.session.end(errClientGone)
	r.client.conn.Close()
	r.mirror.conn.Close()
	r.pipeline.close(errMirrorLost)
}
