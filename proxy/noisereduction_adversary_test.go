package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/proxy"
)

// steppedLedger tells a test of each step of a hold, and lets it fail.
type steppedLedger struct {
	accountant.Ledger

	mu      sync.Mutex
	steps   int
	paid    int64             // by steps, in the unit's budget
	before  func(n int) error // an error is a step that was not recorded
	after   func(n int) error // an error is a step that was
	settled chan struct{}
}

func (l *steppedLedger) Step(ctx context.Context, hold accountant.ChargeID, events []string, debits []accountant.Debit) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps++
	if err := l.before(l.steps); err != nil {
		return err
	}
	if err := l.Ledger.Step(ctx, hold, events, debits); err != nil {
		return err
	}
	for _, d := range debits {
		if d.Scope.Kind == accountant.UnitScope {
			l.paid += d.Loss.Pico()
		}
	}
	return l.after(l.steps)
}

func (l *steppedLedger) Settle(ctx context.Context, hold accountant.ChargeID) error {
	err := l.Ledger.Settle(ctx, hold)
	l.settled <- struct{}{}
	return err
}

// TestAdversaryBetweenRounds holds that a client who goes away, cancels, or finds a ledger
// that fails between two rounds sees no value, and has paid for all that was drawn: a limit too, which is
// drawn in the first round.
func TestAdversaryBetweenRounds(t *testing.T) {
	l := &steppedLedger{settled: make(chan struct{}, 100)}
	w := accurate(t, func(cfg *proxy.Config) {
		l.Ledger = cfg.Ledger
		cfg.Ledger = l
		cfg.Answers = proxy.Answers{}
	})
	scope := accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}
	nothing := func(int) error { return nil }
	fails := errors.Join(errors.New("no disk"), accountant.ErrUnavailable)
	for name, c := range map[string]struct {
		before, after func(conn *pgconn.PgConn, n int) error
		code          string // of the error that the client gets, if it is still there
		least         int64  // steps that must have been paid
	}{
		"an error at the first round": {before: func(_ *pgconn.PgConn, _ int) error { return fails }, code: "PB014"},
		"an error at the third round": {before: func(_ *pgconn.PgConn, n int) error {
			if n == 3 {
				return fails
			}
			return nil
		}, code: "PB014", least: 2},
		"an error behind the third round": {after: func(_ *pgconn.PgConn, n int) error {
			if n == 3 {
				return fails
			}
			return nil
		}, code: "PB014", least: 3},
		"a third round that the hold does not cover": {before: func(_ *pgconn.PgConn, n int) error {
			if n == 3 {
				return fmt.Errorf("a test: %w", accountant.ErrNotHeld)
			}
			return nil
		}, code: "XX000", least: 2},
		"a cancel request": {after: func(conn *pgconn.PgConn, n int) error {
			if n == 2 {
				return conn.CancelRequest(context.Background())
			}
			return nil
		}, code: "57014", least: 2},
		"a client who goes away": {after: func(conn *pgconn.PgConn, n int) error {
			if n == 2 {
				return conn.Conn().Close()
			}
			return nil
		}, least: 2},
	} {
		for _, sql := range []string{"SELECT count(*) FROM patients", "SELECT count(*) FROM visits"} {
			t.Run(name+": "+sql, func(t *testing.T) {
				ana := connect(t, w.url("ana"))
				must(t, ana, "SET dp.relative_error = 0.05; SET dp.contribution = auto")
				spent := w.spent(t, scope.Kind, scope.Name)
				conn := ana.PgConn()
				l.steps, l.paid, l.before, l.after = 0, 0, nothing, nothing
				if c.before != nil {
					l.before = func(n int) error { return c.before(conn, n) }
				}
				if c.after != nil {
					l.after = func(n int) error { return c.after(conn, n) }
				}
				checkNothingSeen(t, w, l, conn, sql, spent, c.code, c.least)
			})
		}
	}
}

// checkNothingSeen asks, and holds that no value comes back and that all drawn noise is paid.
func checkNothingSeen(
	t *testing.T, w *world, l *steppedLedger, conn *pgconn.PgConn, sql string, spent int64, want string, least int64,
) {
	t.Helper()
	scope := accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}
	rows, err := conn.Exec(t.Context(), sql).ReadAll()
	<-l.settled
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rows {
		if len(r.Rows) > 0 {
			t.Errorf("a value was seen: %s", r.Rows)
		}
	}
	if got := code(err); err == nil || want != "" && got != want {
		t.Errorf("%v, want %s", err, want)
	}
	b, err := w.ledger.Balances(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	if got := b[0].Spent.Pico() - spent; got != l.paid || int64(l.steps) < least || least > 0 && got == 0 || b[0].Held.Pico() != 0 {
		t.Errorf("%d steps, of which %d was paid; spent %d, still held %v", l.steps, l.paid, got, b[0].Held)
	}
}
