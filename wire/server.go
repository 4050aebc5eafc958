package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/frugal"
	"dpproxy/pgerr"
)

// A Server takes the connections of clients and gives each that logs in a
// session on the mirror.
type Server struct {
	config    atomic.Pointer[Config]
	log       *slog.Logger
	mockKey   []byte // where Config has none
	sessions  *sessions
	lobby     *lobby
	attempts  *attempts
	admission *admission
}

// NewServer returns a server; [Server.Serve] runs it.
func NewServer(c Config) (*Server, error) {
	v := &Server{
		log: c.Logger, mockKey: make([]byte, 32), sessions: newSessions(), lobby: newLobby(), attempts: newAttempts(),
		admission: newAdmission(),
	}
	if v.log == nil {
		v.log = slog.New(slog.DiscardHandler)
	}
	rand.Read(v.mockKey)
	return v, v.Reload(c)
}

// Reload takes another configuration for the connections to come; sessions keep
// theirs. Its Logger does not count. After an error the old one stays.
func (v *Server) Reload(c Config) error {
	if c.Verifier == nil || c.Dial == nil {
		return errors.New("wire: Config.Verifier and Config.Dial are required")
	}
	if c.RequireTLS && c.TLS == nil {
		return errors.New("wire: Config.RequireTLS needs Config.TLS")
	}
	if len(c.MockKey) == 0 {
		c.MockKey = v.mockKey
	}
	c.Limits = c.Limits.withDefaults()
	v.config.Store(&c)
	return nil
}

// Disconnect ends the sessions of a user, in the middle of a statement too, and of a log-in.
func (v *Server) Disconnect(user string) {
	for _, s := range v.sessions.dismiss(user) {
		if s.session.User() == user {
			s.session.end(errShutdown)
		}
	}
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
	timer := time.AfterFunc(v.config.Load().Limits.DrainTime, func() { kill(errShutdown) })
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
		if err := frugal.Probe(conn, clientGone); err != nil {
			conn.Close()
			continue
		}
		moment := v.sessions.moment() // before the configuration is looked at, which is changed before users are disconnected
		c := &connection{conn: frugal.Direct(conn), config: v.config.Load(), moment: moment, address: addressOf(conn)}
		logIn, stop := context.WithCancelCause(ctx)
		c.guest = &guest{address: c.address, turn: stop}
		c.reached = func(s stage) { v.lobby.reached(c.guest, s) }
		v.lobby.enter(c.guest, c.config.Limits)
		all.Go(func() { v.handle(logIn, ctx, running, c) })
	}
}

// clientGone is how long a client's machine may be without a word until its session ends.
const clientGone = time.Minute

// longestName is the length of Postgres's names: the claims of anybody who connects are not to
// fill the log.
const longestName = 63

func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// drain asks every session to end.
func (v *Server) drain() {
	for _, s := range v.sessions.all() {
		s.idle.drain()
	}
}

// handle is the life of one connection. LogIn ends when others need its place in the lobby, serving when no new sessions are
// wanted, running when the present ones must end.
func (v *Server) handle(logIn, serving, running context.Context, c *connection) {
	defer c.conn.Close()
	defer v.recover("connection")
	s, err := v.login(logIn, c)
	if err != nil {
		return
	}
	defer v.admission.leave(c.address, c.user)
	defer v.sessions.remove(s)
	if serving.Err() != nil {
		s.idle.drain()
	}
	s.serve(running)
}

// login takes a connection to where its first statement can come. An error has
// been answered.
func (v *Server) login(ctx context.Context, c *connection) (*relay, error) {
	defer v.lobby.leave(c.guest)
	defer c.guest.turn(nil)
	timer := time.AfterFunc(c.config.Limits.LoginTime, func() { c.guest.turn(errDone) })
	defer timer.Stop()
	conn := c.conn // without TLS around it
	interrupted := make(chan struct{})
	unblock := context.AfterFunc(ctx, func() { defer close(interrupted); c.interrupt(ctx, conn) })
	s, err := v.tryLogin(ctx, c)
	over := !unblock()
	if over {
		<-interrupted // or its deadline would come behind the one below, and a client would miss why it is turned away
	}
	if over && err == nil {
		s.close()
		v.sessions.remove(s)
		v.admission.leave(c.address, c.user)
		err = errDone
	}
	if turnedAway(ctx) {
		_ = conn.SetReadDeadline(time.Time{}) // interrupt could set it
		c.refuse(conn, errNoRoom, turnedTime)
		return nil, errNoRoom
	}
	if f, ok := errors.AsType[*fatalError](err); ok {
		c.reached(refused)
		v.log.Info("a log-in failed", "user", c.user[:min(len(c.user), longestName)], "remote", remote(conn), "code", f.told.Code.String())
		c.refuse(conn, f, lingerTime)
	}
	return s, err
}

// refuse tells a client why it is not logged in, and lets it read that for a while.
func (c *connection) refuse(plain net.Conn, why *fatalError, while time.Duration) {
	linger := time.AfterFunc(while, func() { plain.Close() })
	defer linger.Stop()
	_, _ = c.conn.Write(encodeFatal(why.told)) // a client that has gone does not hear it
	closeWrite(c.conn)
	discard(c.conn)
}

// interrupt ends what a log-in reads. One that is turned away can still be told why.
func (c *connection) interrupt(ctx context.Context, plain net.Conn) {
	if !turnedAway(ctx) || plain.SetReadDeadline(time.Unix(1, 0)) != nil {
		plain.Close()
	}
}

func (v *Server) tryLogin(ctx context.Context, c *connection) (*relay, error) {
	start, err := c.negotiate(ctx)
	if err != nil {
		return nil, err
	}
	if start.code == codeCancel {
		if s := v.sessions.find(start.cancel); s != nil {
			s.canceler.cancel(errCanceled)
		}
		return nil, errDone
	}
	c.reached(started)
	c.user = start.user()
	p := newPeer(c.conn, loginMessageBytes)
	if n := start.negotiation(); n != nil {
		if err := p.write(n); err != nil {
			return nil, err
		}
	}
	if c.config.RequireTLS && !c.tls {
		return nil, fatal(pgerr.InvalidAuthorization, "this server takes encrypted connections only")
	}
	if err := v.authenticate(ctx, c, p); err != nil {
		return nil, err
	}
	if v.lobby.leave(c.guest); turnedAway(ctx) { // after its last word: from here on nobody can
		return nil, errNoRoom
	}
	if err := v.admission.admit(c.address, c.user, c.config.Limits); err != nil {
		return nil, err
	}
	s, err := v.open(ctx, c, p, start)
	if err == nil && v.sessions.isDismissed(c.user, c.moment) {
		// Disconnect may have missed it, and the rule that let it in does not hold any more.
		s.mirror.conn.Close()
		v.sessions.remove(s)
		err = fatal(pgerr.AdminShutdown, "the configuration has changed: log in again")
	}
	if err != nil {
		v.admission.leave(c.address, c.user)
		return nil, err
	}
	return s, nil
}

// open dials the mirror for a client that has proved to be the user.
func (v *Server) open(ctx context.Context, c *connection, p *peer, start startup) (*relay, error) {
	settings, err := requestedSettings(start.params)
	if err != nil {
		return nil, err
	}
	login := Login{User: start.user(), Database: start.database(), Params: settings}
	ctx, stop := context.WithTimeout(ctx, c.config.Limits.DialTime)
	defer stop()
	backend, err := c.config.Dial(ctx, login)
	if err != nil {
		return nil, v.dialError(login, err)
	}
	if err = backend.SyncConn(ctx); err != nil {
		backend.Close(ctx)
		return nil, v.dialError(login, err)
	}
	hijacked, err := backend.Hijack()
	if err != nil {
		return nil, v.dialError(login, err)
	}
	p.in.limit = c.config.Limits.MessageBytes
	s := newRelay(c.config, v.log, login, p, backend, hijacked, v.sessions.senders)
	v.sessions.add(s, start.version(), hijacked.PID)
	return s, nil
}

// dialError says why there is no mirror session, in words of our own.
func (v *Server) dialError(login Login, err error) error {
	if own, ok := errors.AsType[*pgerr.Error](err); ok {
		return &fatalError{own}
	}
	if theirs, ok := errors.AsType[*pgconn.PgError](err); ok {
		v.log.Error("the mirror refused a session", "user", login.User, "code", theirs.Code)
		switch theirs.Code {
		case "22023", "22P02", "25001", "42501", "42704", "55P02":
			return refusedSetting(login.Params, theirs)
		case "53300":
			return fatal(pgerr.TooManyConnections, "sorry, too many clients already")
		case "28000", "28P01":
			return &fatalError{pgerr.New(pgerr.CannotConnectNow, "the mirror has no role for you").
				WithHint("An analyst who is new in the policy has one after the administrator's dpproxy sync.")}
		}
	} else {
		v.log.Error("the mirror cannot be reached", "user", login.User)
	}
	return fatal(pgerr.CannotConnectNow, "the mirror database cannot be reached")
}

// recover keeps a defect in one connection from ending the others.
func (v *Server) recover(where string) {
	if r := recover(); r != nil {
		logDefect(v.log, where)
	}
}
