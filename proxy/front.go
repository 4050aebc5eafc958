package proxy

import (
	"context"
	"errors"
	"sync"

	"dpproxy/pgerr"
	"dpproxy/wire"
)

// A Front hands each statement to the Proxy that serves at the time. Which one that is can change while
// statements run and sessions are open: a statement is answered by the one that serves when it begins,
// also where it was prepared before.
type Front struct {
	// catchUp is asked where a statement is refused since a schema has changed.
	catchUp func(ctx context.Context) News

	mu  sync.Mutex
	now *shift
}

// News says how much is known of a change of a schema.
type News int

// News that there can be.
const (
	NoNews  News = iota // all that there is to know was known
	Changed             // another Proxy serves, or it can be said what changed
	Pending             // that is being found out, or taken over
)

// A shift is the time of one Proxy.
type shift struct {
	proxy   *Proxy
	running sync.WaitGroup // statements that have begun
}

// NewFront returns the Front before a Proxy. CatchUp may be nil.
func NewFront(p *Proxy, catchUp func(ctx context.Context) News) *Front {
	return &Front{catchUp: catchUp, now: &shift{proxy: p}}
}

// Replace has another Proxy serve. The function that it returns waits for the statements that have begun before, and for
// their reads.
func (f *Front) Replace(p *Proxy) (ended func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.now
	f.now = &shift{proxy: p}
	p.history.forget(func(analyst string) bool {
		_, goesOn := p.cfg.Analysts[analyst]
		return goesOn
	})
	return func() {
		before.running.Wait()
		before.proxy.reads.Wait()
	}
}

// Now returns the Proxy that serves.
func (f *Front) Now() *Proxy {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now.proxy
}

// begin takes the Proxy that serves, until end.
func (f *Front) begin() (p *Proxy, end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now.running.Add(1)
	return f.now.proxy, f.now.running.Done
}

// Screen implements wire.Handler.
func (f *Front) Screen(s *wire.Session, sql string) ([]wire.Statement, error) {
	p := f.Now()
	statements, err := p.Screen(s, sql)
	for i, st := range statements {
		if st.Run != nil {
			statements[i].Run = (&turn{front: f, session: s, screened: p, statement: st}).run
		}
	}
	return statements, err
}

// Widen implements wire.Widener.
func (f *Front) Widen(s *wire.Session, sql string, ask func(sql string) (string, error)) (*wire.Widened, error) {
	return f.Now().Widen(s, sql, ask)
}

// Prepared implements wire.Preparer.
func (f *Front) Prepared(text, name string) (query string, ok bool) {
	return f.Now().Prepared(text, name)
}

var (
	_ wire.Handler  = (*Front)(nil)
	_ wire.Widener  = (*Front)(nil)
	_ wire.Preparer = (*Front)(nil)
)

// A turn is a statement as one Proxy has screened it.
type turn struct {
	front     *Front
	session   *wire.Session
	screened  *Proxy
	statement wire.Statement
}

// run has the statement run. One that is refused since a schema has changed was neither read nor charged for:
// it is tried once more if there is something new.
func (t *turn) run(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	rw, err := t.once(ctx, m, b)
	refused, ok := errors.AsType[*pgerr.Error](err)
	if !ok || refused.Code != pgerr.SchemaChanged || t.front.catchUp == nil {
		return rw, err
	}
	switch t.front.catchUp(ctx) {
	case Changed:
		b.Early = nil
		return t.once(ctx, m, b)
	case Pending:
		return rw, pgerr.New(pgerr.SchemaChanged, "%s", refused.Message).WithHint("Nothing was charged. Dpproxy is looking at it: " +
			"send the statement again.")
	case NoNews:
	}
	return rw, err
}

// once has the statement run by the Proxy that serves, which screens it anew unless it did.
func (t *turn) once(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	p, end := t.front.begin()
	defer end()
	if p == t.screened {
		return t.statement.Run(ctx, m, b)
	}
	again, err := p.Screen(t.session, t.statement.SQL)
	switch {
	case err != nil:
		return wire.Rewrite{}, err
	case len(again) == 0 || len(again) == 1 && again[0].Run == nil:
		return wire.Rewrite{Relay: true}, nil
	case len(again) != 1 || again[0].Describe != t.statement.Describe || again[0].Utility != t.statement.Utility:
		return wire.Rewrite{}, pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type").
			WithHint("The privacy policy has changed: prepare the statement again.")
	}
	b.Early = nil
	return again[0].Run(ctx, m, b)
}
