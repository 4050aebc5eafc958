package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/await"
	"dpproxy/internal/sitetest"
	"dpproxy/proxy"
)

// watchedLedger calls a test behind each entry.
type watchedLedger struct {
	accountant.Ledger
	mu    sync.Mutex
	after func(entry string)
}

func (l *watchedLedger) watch(after func(string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.after = after
}

func (l *watchedLedger) say(entry string) {
	l.mu.Lock()
	after := l.after
	l.mu.Unlock()
	if after != nil {
		after(entry)
	}
}

func (l *watchedLedger) Charge(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	defer l.say("charge")
	return l.Ledger.Charge(ctx, c)
}

func (l *watchedLedger) Hold(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	defer l.say("hold")
	return l.Ledger.Hold(ctx, c)
}

func (l *watchedLedger) Step(ctx context.Context, hold accountant.ChargeID, events []string, debits []accountant.Debit) error {
	defer l.say("step")
	return l.Ledger.Step(ctx, hold, events, debits)
}

// onlooker is a second session of the analyst, who looks at all there is to see, free of charge.
type onlooker struct {
	*pgx.Conn
	t      *testing.T
	ledger accountant.Ledger
	asks   []string
}

// settled waits until the mirror's sessions have answered their clients and wait for them.
func (o *onlooker) settled() {
	for quiet := false; !quiet && o.t.Context().Err() == nil; {
		const sql = "SELECT bool_and(wait_event = 'ClientRead') IS TRUE FROM pg_stat_activity WHERE usename = current_user " +
			"AND pid <> pg_backend_pid()"
		if err := o.QueryRow(o.t.Context(), sql).Scan(&quiet); err != nil {
			o.t.Error(err)
			return
		}
	}
}

// sight has everything that the onlooker can see, and the balances and incidents of the ledger,
// by which statements are admitted.
func (o *onlooker) sight() string {
	var all strings.Builder
	balances, err := o.ledger.Balances(o.t.Context())
	incidents, err2 := o.ledger.Incidents(o.t.Context())
	if err := errors.Join(err, err2); err != nil {
		o.t.Error(err)
	}
	fmt.Fprintf(&all, "%+v\n%+v\n", balances, incidents)
	for _, sql := range append([]string{
		"SELECT * FROM dp.budget", "SELECT * FROM dp.tables", "SELECT * FROM dp.columns", "SELECT * FROM dp.history",
		"SELECT pid, state, query, wait_event_type, wait_event, query_start, state_change, xact_start FROM pg_stat_activity " +
			"WHERE usename = current_user AND pid <> pg_backend_pid() ORDER BY pid",
		"SELECT pid, locktype, relation, mode FROM pg_locks WHERE pid <> pg_backend_pid() ORDER BY pid, locktype, relation, mode",
		"SELECT name, statement FROM pg_prepared_statements ORDER BY 1", "SELECT name FROM pg_cursors ORDER BY 1",
		"SELECT count(*) FROM labs",
	}, o.asks...) {
		fmt.Fprintf(&all, "%s\n", sql)
		results, err := o.PgConn().Exec(o.t.Context(), sql).ReadAll()
		for _, r := range results {
			for _, row := range r.Rows {
				fmt.Fprintf(&all, "  %s\n", row)
			}
		}
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
			fmt.Fprintf(&all, "  %s; %s\n", pg.Message, pg.Detail)
		}
	}
	return all.String()
}

// veiled are statements of each kind of path.
var veiled = map[string]struct {
	before, sql string
	fails       string // the SQLSTATE of the protected database
	changes     string // that a second session sees once the reply is there
}{
	"a count":        {sql: "SELECT count(*) FROM patients WHERE birth_year > 1940", changes: "answered before"},
	"two blocks":     {sql: "SELECT (SELECT count(*) FROM visits), (SELECT avg(cost) FROM visits)", changes: "answered before"},
	"private groups": {sql: "SELECT hospital_id, count(*) FROM visits GROUP BY 1", changes: "answered before"},
	"rounds": {
		before: "SET dp.relative_error = 0.02", sql: "SELECT diagnosis, count(*) FROM visits GROUP BY 1",
		changes: " brownian ",
	},
	"refined rounds": {
		before: "SET dp.relative_error = 0.01", sql: "SELECT diagnosis, count(*) FROM visits GROUP BY 1",
		changes: " brownian ",
	},
	"a read that fails":          {sql: "SELECT count(*) FROM visits WHERE cost > 7", fails: "53200", changes: "Shape:"},
	"a read that is interrupted": {sql: "SELECT sum(birth_year) FROM patients", fails: "40001", changes: "cost: nothing of"},
}

// TestVeil holds that nothing changes that a second session can see from the moment of the
// charge to the statement's point of the grid, however far its read is; and that it does then.
func TestVeil(t *testing.T) {
	const quantum = 20 * time.Millisecond
	clock := &fakeClock{now: time.Unix(1000, 0)}
	ledger := &watchedLedger{}
	budget, err := dp.NewLoss(dp.ZCDP, 100*dp.PicoPerUnit, 1e15)
	if err != nil {
		t.Fatal(err)
	}
	w := accurate(t, func(c *proxy.Config) {
		ledger.Ledger = c.Ledger
		c.Ledger, c.Now, c.LeftReads = ledger, clock.look, 1
		c.Grid = clock.grid(quantum)
	}, accountant.Limit{Scope: accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}, Loss: budget},
		limit(t, accountant.TableScope, "public.labs", dp.ZCDP, 1)) // of which everything is too expensive
	for name, c := range veiled {
		t.Run(name, func(t *testing.T) {
			ana := connect(t, w.url("ana"))
			other := &onlooker{
				Conn: connect(t, w.url("ana")), t: t,
				asks: []string{
					"EXPLAIN " + c.sql, "EXPLAIN " + c.sql + " LIMIT 1", "SELECT * FROM dp.plan($$" + c.sql + "$$)",
					"EXPLAIN SELECT count(*) FROM visits WHERE cost > 8",
				},
				ledger: w.ledger,
			}
			must(t, ana, c.before)
			must(t, other.Conn, c.before)
			if c.fails != "" {
				w.gate.Fail(c.fails)
				defer w.gate.Open()
			}
			var mu sync.Mutex // reads and replies have goroutines of their own
			var seen []string
			look := func(when string) {
				mu.Lock()
				defer mu.Unlock()
				other.settled()
				seen = append(seen, when+"\n"+other.sight())
			}
			ledger.watch(func(entry string) {
				ledger.watch(func(entry string) { look(entry) })
				clock.set(0, func() { look("the reply waits") })
				look(entry)
			})
			defer ledger.watch(nil)
			_, err := ana.Exec(t.Context(), c.sql, pgx.QueryExecModeSimpleProtocol)
			if (err != nil) != (c.fails != "") {
				t.Fatal(err)
			}
			clock.set(0, nil)
			ledger.watch(nil)
			mu.Lock()
			defer mu.Unlock()
			if len(seen) < 2 {
				t.Fatalf("looked %d times", len(seen))
			}
			_, first, _ := strings.Cut(seen[0], "\n")
			for _, s := range seen[1:] {
				when, sight, _ := strings.Cut(s, "\n")
				if diff := changed(first, sight); len(diff) > 0 {
					t.Errorf("%s: has changed since the charge: %.300s", when, strings.Join(diff, " "))
				}
			}
			if diff := strings.Join(changed(first, other.sight()), "\n"); !strings.Contains(diff, c.changes) {
				t.Errorf("nothing says %q behind the reply: %.300s", c.changes, diff)
			}
		})
	}
	t.Run("a read that is left, and joined", func(t *testing.T) { leftAndJoined(t, w, clock) })
	t.Run("the first is cancelled before its charge", func(t *testing.T) { cancelledBeforeCharge(t, w, clock) })
}

// leftAndJoined holds that nothing of a read shows that its client has left, and which another statement waits for, before the
// point at which its reply would leave.
func leftAndJoined(t *testing.T, w *world, clock *fakeClock) {
	t.Helper()
	const sql = "SELECT count(*) FROM patients WHERE birth_year > 1941"
	ana, joiner := connect(t, w.url("ana")), connect(t, w.url("ana"))
	other := &onlooker{
		Conn: connect(t, w.url("ana")), t: t, ledger: w.ledger,
		asks: []string{"EXPLAIN " + sql, "SELECT * FROM dp.plan($$" + sql + "$$)", "/* dp: spend=never */ " + sql},
	}
	w.gate.Shut()
	defer w.gate.Open()
	must(t, ana, "SET statement_timeout = '10s'")
	left := sitetest.InBackground(t, ana, sql)
	await.That(t, "it reads", func() bool { return w.gate.Waiting() == 1 })
	other.settled()
	charged := other.sight()
	clock.pass(12 * time.Second)
	if err := <-left; code(err) != "57014" {
		t.Fatalf("a statement that timed out: %v", err)
	}
	joined := sitetest.InBackground(t, joiner, sql)
	await.That(t, "the other one waits", func() bool { _, waiting := w.proxy.Waiting(); return waiting == 1 })
	other.settled()
	before := other.sight()
	if diff := changed(ofBudgets(charged), ofBudgets(before)); len(diff) > 0 {
		t.Errorf("a read that was left, and joined, shows: %.300s", strings.Join(diff, " "))
	}
	var waits sync.Once
	clock.set(0, func() {
		waits.Do(func() {
			other.settled()
			if diff := changed(before, other.sight()); len(diff) > 0 {
				t.Errorf("the read is over, and shows: %.300s", strings.Join(diff, " "))
			}
		})
	})
	defer clock.set(0, nil)
	w.gate.Open()
	if err := <-joined; err != nil {
		t.Error(err)
	}
	if diff := strings.Join(changed(before, other.sight()), "\n"); !strings.Contains(diff, "answered before") {
		t.Errorf("nothing says that it was answered: %.300s", diff)
	}
}

// cancelledBeforeCharge holds that one of those who wait goes on.
func cancelledBeforeCharge(t *testing.T, w *world, clock *fakeClock) {
	t.Helper()
	const sql = "SELECT count(*) FROM patients WHERE birth_year > 1942"
	first, others := connect(t, w.url("ana")), []*pgx.Conn{connect(t, w.url("ana")), connect(t, w.url("ana"))}
	replies := make(chan error, len(others))
	var once sync.Once
	clock.set(0, func() {
		once.Do(func() { // before the charge
			for _, other := range others {
				go func() {
					_, err := other.Exec(context.WithoutCancel(t.Context()), sql)
					replies <- err
				}()
			}
			for waiting := 0; waiting < len(others) && t.Context().Err() == nil; runtime.Gosched() {
				_, waiting = w.proxy.Waiting()
			}
			if err := first.PgConn().CancelRequest(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
	defer clock.set(0, nil)
	price := w.price(t, func() {
		if _, err := first.Exec(t.Context(), sql); code(err) != "57014" {
			t.Errorf("the first, which was cancelled: %v", err)
		}
		for range others {
			if err := <-replies; err != nil {
				t.Error(err)
			}
		}
	})
	if alone := w.price(t, func() { must(t, first, "SELECT count(*) FROM patients WHERE birth_year > 1943") }); price != alone {
		t.Errorf("three clients have paid %d, and one pays %d", price, alone)
	}
}

// ofBudgets is a sight without the analyst's sessions on the mirror, in which errors are raised.
func ofBudgets(sight string) string {
	before, rest, _ := strings.Cut(sight, "SELECT pid, state")
	_, after, _ := strings.Cut(rest, "SELECT name, statement")
	return before + after
}

// changed returns the lines of one text that another does not have.
func changed(a, b string) []string {
	old := strings.Split(a, "\n")
	return slices.DeleteFunc(strings.Split(b, "\n"), func(line string) bool { return slices.Contains(old, line) })
}
