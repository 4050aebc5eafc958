package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// A Server takes the connections of clients and gives each that logs in a
// session on the mirror.
type Server struct {
	config   Config
	log      *slog.Logger
	secret   []byte // derives the verifiers of unknown users
	sessions sessions
	logins   atomic.Int64 // connections not logged in
	active   atomic.Int64 // sessions
}

// NewServer returns a server; [Server.Serve] runs it.
func NewServer(c Config) (*Server, error) {
	if c.Verifier == nil || c.Dial == nil {
		return nil, errors.New("wire: Config.Verifier and Config.Dial are required")
	}
	if c.RequireTLS && c.TLS == nil {
		return nil, errors.New("wire: Config.RequireTLS needs Config.TLS")
	}
	c.Limits = c.Limits.withDefaults()
	v := &Server{config: c, log: c.Logger, secret: make([]byte, 32)}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	v.sessions.byKey = map[cancelKey]*Session{}
	rand.Read(v.secret)
	return v, nil
}

// Serve takes connections until ctx ends, then stops listening, ends idle
// sessions at once and the others when their statement is done or
// Limits.DrainTime is over. It returns nil after a stop, else the listener's
// error.
func (v *Server) Serve(ctx context.Context, l net.Listener) error {
	running, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	stopListening := context.AfterFunc(ctx, func() { l.Close() })
	defer stopListening()
	var all sync.WaitGroup
	err := v.accept(ctx, running, l, &all)
	v.drain()
	timer := time.AfterFunc(v.config.Limits.DrainTime, func() { kill(errShutdown) })
	defer timer.Stop()
	all.Wait()
	return err
}

func (v *Server) accept(ctx, running context.Context, l net.Listener, all *sync.WaitGroup) error {
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case isTemporary(err):
			// Too many open files: others must end first.
			select {
			case <-time.After(20 * time.Millisecond): //nolint:forbidigo // a pause for the kernel, on no clock of ours
			case <-ctx.Done():
			}
			continue
		case err != nil:
			return err
		}
		if v.logins.Add(1) > int64(v.config.Limits.Logins) {
			v.logins.Add(-1)
			conn.Close()
			continue
		}
		all.Go(func() { v.handle(ctx, running, conn) })
	}
}

func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// drain asks every session to end.
func (v *Server) drain() {
	for _, s := range v.sessions.all() {
		s.drain()
	}
}

// handle is the life of one connection. Serving ends when no new sessions are
// wanted, running when the present ones must end.
func (v *Server) handle(serving, running context.Context, conn net.Conn) {
	defer conn.Close()
	defer v.recover("connection")
	s, err := v.login(serving, conn)
	if err != nil {
		return
	}
	defer v.active.Add(-1)
	v.sessions.add(s)
	defer v.sessions.remove(s)
	if serving.Err() != nil {
		s.drain()
	}
	s.serve(running)
}

// login takes a connection to where its first statement can come. An error has
// been answered.
func (v *Server) login(ctx context.Context, conn net.Conn) (*Session, error) {
	defer v.logins.Add(-1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	timer := time.AfterFunc(v.config.Limits.LoginTime, stop)
	defer timer.Stop()
	unblock := context.AfterFunc(ctx, func() { conn.Close() })
	c := &connection{conn: conn}
	s, err := v.tryLogin(ctx, c)
	if !unblock() && err == nil {
		s.close()
		v.active.Add(-1)
		err = errDone
	}
	if f, ok := errors.AsType[*fatalError](err); ok {
		v.log.Info("a log-in failed", "user", c.user, "remote", remote(conn), "code", f.told.Code.String())
		linger := time.AfterFunc(lingerTime, func() { conn.Close() })
		defer linger.Stop()
		_, _ = c.conn.Write(encodeFatal(f.told)) // who has gone does not hear it
		closeWrite(c.conn)
		discard(c.conn)
	}
	return s, err
}

func (v *Server) tryLogin(ctx context.Context, c *connection) (*Session, error) {
	start, err := v.negotiate(ctx, c)
	if err != nil {
		return nil, err
	}
	if start.code == codeCancel {
		if s := v.sessions.find(cancelKey{start.pid, start.key}); s != nil {
			s.cancel(errCanceled)
		}
		return nil, errDone
	}
	c.user = start.user()
	p := newPeer(c.conn, loginMessageBytes)
	if n := start.negotiation(); n != nil {
		if err := p.write(n); err != nil {
			return nil, err
		}
	}
	if v.config.RequireTLS && !c.tls {
		return nil, fatal(pgerr.InvalidAuthorization, "this server takes encrypted connections only")
	}
	if err := v.authenticate(c, p, start.user()); err != nil {
		return nil, err
	}
	if v.active.Add(1) > int64(v.config.Limits.Connections) {
		v.active.Add(-1)
		return nil, fatal(pgerr.TooManyConnections, "sorry, too many clients already")
	}
	s, err := v.open(ctx, p, start)
	if err != nil {
		v.active.Add(-1)
	}
	return s, err
}

// open dials the mirror for a client that has proved its password.
func (v *Server) open(ctx context.Context, p *peer, start startup) (*Session, error) {
	login := Login{User: start.user(), Database: start.database(), Params: allowedSettings(start.params)}
	ctx, stop := context.WithTimeout(ctx, v.config.Limits.DialTime)
	defer stop()
	backend, err := v.config.Dial(ctx, login)
	if err != nil {
		return nil, v.dialError(login.User, err)
	}
	if err = backend.SyncConn(ctx); err != nil {
		backend.Close(ctx)
		return nil, v.dialError(login.User, err)
	}
	hijacked, err := backend.Hijack()
	if err != nil {
		return nil, v.dialError(login.User, err)
	}
	p.in.limit = v.config.Limits.MessageBytes
	return newSession(v, login, p, backend, hijacked), nil
}

// dialError says why there is no mirror session, in words of our own.
func (v *Server) dialError(user string, err error) error {
	if own, ok := errors.AsType[*pgerr.Error](err); ok {
		return &fatalError{own}
	}
	if theirs, ok := errors.AsType[*pgconn.PgError](err); ok {
		v.log.Error("the mirror refused a session", "user", user, "code", theirs.Code)
		switch theirs.Code {
		case "22023", "22P02":
			return fatal(pgerr.InvalidParameterValue, "a start-up parameter has an invalid value")
		case "53300":
			return fatal(pgerr.TooManyConnections, "sorry, too many clients already")
		}
	} else {
		v.log.Error("the mirror cannot be reached", "user", user)
	}
	return fatal(pgerr.CannotConnectNow, "the mirror database cannot be reached")
}

// recover keeps a defect in one connection from ending the others.
func (v *Server) recover(where string) {
	if r := recover(); r != nil {
		logDefect(v.log, where)
	}
}

// logDefect logs where a panic came from, but not its value, which may quote
// what a client sent, nor the arguments of the calls.
func logDefect(log *slog.Logger, where string) {
	const deepest = 32
	callers := make([]uintptr, deepest)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	var stack []string
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		stack = append(stack, fmt.Sprintf("%s:%d", f.Function, f.Line))
	}
	log.Error("a connection was ended by a defect", "where", where, "stack", stack)
}

func remote(c net.Conn) string {
	if a := c.RemoteAddr(); a != nil {
		return a.String()
	}
	return ""
}

// greeting is what a client gets when its session is open.
func (s *Session) greeting() []byte {
	var out []byte
	for _, name := range s.parameterNames() {
		out = encode(out, &pgproto3.ParameterStatus{Name: name, Value: s.Parameter(name)})
	}
	secret := s.key.secret
	out = encode(out, &pgproto3.BackendKeyData{
		ProcessID: s.key.pid,
		SecretKey: []byte{byte(secret >> 24), byte(secret >> 16), byte(secret >> 8), byte(secret)},
	})
	return encode(out, &pgproto3.ReadyForQuery{TxStatus: 'I'})
}
