package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/pgerr"
)

var (
	errClientGone = errors.New("wire: the client went away")
	errTerminate  = errors.New("wire: the client said good-bye")
	errMirrorLost = fatal(pgerr.AdminShutdown, "terminating connection: the mirror session has ended")
	errOutOfStep  = fatal(pgerr.Internal, "the mirror session is out of step")
	errShutdown   = fatal(pgerr.AdminShutdown, "terminating connection due to administrator command")
)

// A Session is one client that has logged in.
type Session struct {
	login    Login
	log      *slog.Logger
	handler  Handler
	limits   Limits
	client   *peer
	mirror   *peer
	backend  *pgconn.PgConn // hijacked; for cancel requests alone
	pipeline *pipeline
	siblings *sessions
	key      cancelKey
	process  uint32 // of the mirror
	private  string // name of our statements and portals on the mirror
	idle     *idleTimer

	ctx     context.Context //nolint:containedctx // it is the session's life
	end     context.CancelCauseFunc
	running running
	// canceling is held while a cancel request is under way.
	canceling sync.Mutex
	// asking is held while a private question is under way.
	asking   sync.Mutex
	draining atomic.Bool
	leaving  atomic.Bool // the client has said good-bye
	working  atomic.Bool // an intercepted statement is not yet sent to the mirror
	waiting  atomic.Bool // all that was read was passed on
	watching bool        // something was intercepted: names matter. The requests goroutine's own

	prepared int // statements by SQL's PREPARE. The replies goroutine's own

	mu     sync.Mutex
	params map[string]string // as the mirror reports them
	value  any
}

func newSession(c *Config, log *slog.Logger, login Login, client *peer, backend *pgconn.PgConn, h *pgconn.HijackedConn) *Session {
	s := &Session{
		login: login, handler: c.Handler, limits: c.Limits,
		log:    log.With("user", login.User),
		client: client, mirror: newPeer(h.Conn, 0), backend: backend,
		pipeline: newPipeline(), private: "_dp" + rand.Text(), params: h.ParameterStatuses,
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.idle = newIdleTimer(s)
	return s
}

// User returns the name the client logged in with.
func (s *Session) User() string { return s.login.User }

// Database returns the database the client asked for.
func (s *Session) Database() string { return s.login.Database }

// Context ends with the session.
func (s *Session) Context() context.Context { return s.ctx }

// Parameter returns a setting that Postgres reports to its clients, such as
// client_encoding, as it was when the mirror last reported it.
func (s *Session) Parameter(name string) string {
	if name == "is_superuser" {
		return "off"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.params[name]
}

func (s *Session) parameterNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.params))
}

// Value returns what SetValue stored, or nil.
func (s *Session) Value() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// SetValue stores a value of the handler's with the session.
func (s *Session) SetValue(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = v
}

// serve relays until either side ends or running does.
func (s *Session) serve(running context.Context) {
	defer s.close()
	s.log.Info("logged in", "remote", remote(s.client.conn))
	stop := context.AfterFunc(running, func() { s.end(context.Cause(running)) })
	defer stop()
	s.idle.ready('I')
	defer s.idle.stop()
	if s.client.write(s.greeting()) != nil || s.client.flush() != nil {
		return
	}
	var both sync.WaitGroup
	replies := make(chan error, 1)
	silent := make(chan struct{})
	both.Go(func() {
		defer close(silent)
		s.relay(replies)
		discard(s.client.conn)
	})
	both.Go(func() {
		defer s.recover("replies")
		err := s.relayReplies()
		replies <- err
		if !s.leaving.Load() {
			s.end(err)
		}
	})
	<-s.ctx.Done()
	if cause := context.Cause(s.ctx); !errors.Is(cause, errMirrorLost) {
		s.stopMirror()
	}
	s.sayWhy(context.Cause(s.ctx), silent)
	s.close()
	both.Wait()
}

func (s *Session) relay(replies <-chan error) {
	defer s.recover("requests")
	s.end(s.relayRequests(replies))
}

// sayWhy tells the client why its session ends, if it does not know. It returns
// when the client has gone silent: closing earlier could lose what it was told.
func (s *Session) sayWhy(cause error, silent <-chan struct{}) {
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
	timer := time.AfterFunc(lingerTime, func() { s.client.conn.Close() })
	defer timer.Stop()
	if s.client.write(encodeFatal(f.told)) == nil && s.client.flush() == nil {
		closeWrite(s.client.conn)
		<-silent
	}
}

// close ends both connections and everything that waits for them. It may be
// called twice.
func (s *Session) close() {
	s.end(errClientGone)
	s.client.conn.Close()
	s.mirror.conn.Close()
	s.pipeline.close(errMirrorLost)
}

// drain ends the session when the statement in progress is done.
func (s *Session) drain() {
	s.draining.Store(true)
	s.endIfDrained()
}

func (s *Session) endIfDrained() {
	if s.draining.Load() && s.pipeline.idle() && !s.working.Load() {
		s.end(errShutdown)
	}
}

// recover ends the session when one of its goroutines has a defect.
func (s *Session) recover(where string) {
	if r := recover(); r != nil {
		logDefect(s.log, where)
		s.end(&fatalError{internalError()})
	}
}

// relayRequests copies what the client sends until it ends.
func (s *Session) relayRequests(replies <-chan error) error {
	for {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		if !s.client.in.ready() {
			if err := s.mirror.flush(); err != nil {
				return errMirrorLost
			}
			s.waiting.Store(true)
		}
		err := s.nextRequest()
		if errors.Is(err, errTerminate) {
			return s.finish(replies)
		}
		if err != nil {
			return err
		}
	}
}

func (s *Session) nextRequest() error {
	typ, size, err := s.client.in.head()
	s.waiting.Store(false)
	switch {
	case errors.Is(err, errTooLong):
		return fatal(pgerr.ProgramLimitExceeded, "a message is longer than %d bytes", s.limits.MessageBytes)
	case errors.Is(err, errLength):
		return fatal(pgerr.ProtocolViolation, "invalid message length")
	case err != nil:
		return errClientGone
	}
	raw, err := s.client.in.take(size)
	if err != nil {
		return errClientGone
	}
	s.canceling.Lock()
	s.canceling.Unlock() //nolint:staticcheck // it waits for a cancel request that is under way
	return s.request(typ, raw)
}

// finish passes a good-bye on and lets the mirror do what was asked before it.
func (s *Session) finish(replies <-chan error) error {
	s.leaving.Store(true)
	if s.mirror.write([]byte{'X', 0, 0, 0, 4}) == nil && s.mirror.flush() == nil {
		select {
		case <-replies: //nolint:errcheck // the session ends, whyever the replies did
		case <-s.ctx.Done():
		}
	}
	return errTerminate
}

// relayReplies copies what the mirror sends until it ends.
func (s *Session) relayReplies() error {
	for {
		if !s.mirror.in.ready() {
			if err := s.client.flush(); err != nil {
				return errClientGone
			}
		}
		typ, size, err := s.mirror.in.head()
		if err != nil {
			return errMirrorLost
		}
		err = s.reply(typ, size)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errMirrorLost
		}
		if err != nil {
			return err
		}
	}
}
