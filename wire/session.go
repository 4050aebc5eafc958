package wire

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Login is a client's claims at start-up, proved by its password.
type Login struct {
	User     string
	Database string            // as the client asked; the user's name if it did not
	Params   map[string]string // settings for the session's start
}

// A Session is a client that has logged in, as a [Handler] sees it.
type Session struct {
	login Login
	log   *slog.Logger

	ctx context.Context //nolint:containedctx // it is the session's life
	end context.CancelCauseFunc

	discards atomic.Int64 // by DISCARD ALL
	// prepares says that SQL may have prepared statements that are the handler's.
	prepares bool

	mu     sync.Mutex
	params map[string]string // as the mirror reports them
	value  any
}

func newSession(login Login, log *slog.Logger, params map[string]string) *Session {
	s := &Session{login: login, log: log.With("user", login.User), params: params}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	return s
}

// NotePrepare is called by [Handler.Screen] if a text prepares, with SQL, a statement that is the handler's to run.
func (s *Session) NotePrepare() { s.prepares = true }

// User returns the name the client logged in with.
func (s *Session) User() string { return s.login.User }

// Database returns the database the client asked for.
func (s *Session) Database() string { return s.login.Database }

// StartedWith returns the value that the client gave a setting when it logged in, or "".
func (s *Session) StartedWith(setting string) string { return s.login.Params[setting] }

// Discards counts the DISCARD ALL that were done: what was remembered of the session before the last of them is gone.
func (s *Session) Discards() int64 { return s.discards.Load() }

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

func (s *Session) setParameter(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.params[name] = value
}

func (s *Session) parameterNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.params))
}

// Value returns the value that SetValue stored, or nil.
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

// recover ends the session when one of its goroutines has a defect.
func (s *Session) recover(where string) {
	if r := recover(); r != nil {
		logDefect(s.log, where)
		s.end(&fatalError{internalError()})
	}
}
