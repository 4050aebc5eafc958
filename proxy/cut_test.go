package proxy_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/proxy"
)

// slowLedger takes a known time for each step of a hold, and tells a test of it.
type slowLedger struct {
	accountant.Ledger
	clock   *fakeClock
	settled chan struct{}

	mu    sync.Mutex
	read  time.Duration // time of the first step, with the read behind it
	round time.Duration // time of each other step
	steps int
	then  func(step int)
}

func (l *slowLedger) Step(ctx context.Context, hold accountant.ChargeID, events []string, debits []accountant.Debit) error {
	err := l.Ledger.Step(ctx, hold, events, debits)
	l.mu.Lock()
	l.steps++
	step, takes, then := l.steps, l.round, l.then
	if step == 1 {
		takes = l.read
	}
	l.mu.Unlock()
	l.clock.pass(takes)
	if then != nil {
		then(step)
	}
	return err
}

func (l *slowLedger) Settle(ctx context.Context, hold accountant.ChargeID) error {
	defer func() { l.settled <- struct{}{} }()
	return l.Ledger.Settle(ctx, hold)
}

// expect sets the times of the steps of the next statement, and calls then before each.
func (l *slowLedger) expect(read, round time.Duration, then func(step int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read, l.round, l.steps, l.then = read, round, 0, then
}

func (l *slowLedger) taken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.steps
}

// sameNoise gives each statement the same noise.
type sameNoise struct {
	mu  sync.Mutex
	rng *rand.ChaCha8
}

func (s *sameNoise) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.Uint64()
}

func (s *sameNoise) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rng = rand.NewChaCha8([32]byte{7})
}

// outcome is the end of a statement with several rounds as an analyst sees it.
type outcome struct {
	steps int
	spent int64
	took  time.Duration // from when the veil fell to the reply
	code  string
}

func (e outcome) String() string {
	return fmt.Sprintf("%d steps, spent %d, after %v, %s", e.steps, e.spent, e.took, e.code)
}

// cutWorld is a world in which the time of each round is known.
type cutWorld struct {
	*world
	t      *testing.T
	clock  *fakeClock
	ledger *slowLedger
	noise  *sameNoise
}

func newCutWorld(t *testing.T, quantum time.Duration) *cutWorld {
	clock := &fakeClock{now: time.Unix(1000, 0)}
	c := &cutWorld{t: t, clock: clock, ledger: &slowLedger{clock: clock, settled: make(chan struct{}, 1)}, noise: &sameNoise{}}
	c.noise.again()
	c.world = accurate(t, func(cfg *proxy.Config) {
		c.ledger.Ledger = cfg.Ledger
		cfg.Ledger, cfg.Source, cfg.Answers, cfg.Grid = c.ledger, c.noise, proxy.Answers{}, clock.grid(quantum)
	}, large(t))
	return c
}

// ask rounds at a count until it is precise enough.
func (c *cutWorld) ask(conn *pgx.Conn, read, round time.Duration, then func(step int)) outcome {
	c.t.Helper()
	c.noise.again()
	c.ledger.expect(read, round, then)
	before, start := c.spent(c.t, accountant.UnitScope, "patient"), c.clock.look()
	_, err := conn.Exec(c.t.Context(), "SELECT count(*) FROM patients", pgx.QueryExecModeSimpleProtocol)
	select {
	case <-c.ledger.settled:
	case <-time.After(time.Minute):
		c.t.Fatalf("the rounds do not end: %v", err)
	}
	return outcome{c.ledger.taken(), c.spent(c.t, accountant.UnitScope, "patient") - before, c.clock.look().Sub(start), code(err)}
}

// TestCutAmongRounds holds that timeouts, cancel requests, and clients that go away among the rounds
// end the read alone: charge and history are the same, at the same point, as of a statement
// that nobody ends.
func TestCutAmongRounds(t *testing.T) {
	// The mirror's clock, which is none of the test's, is not to run into a timeout.
	const quantum, read = 20 * time.Second, 3 * time.Second
	c := newCutWorld(t, quantum)
	var conn *pgx.Conn
	session := func(timeout string) *pgx.Conn {
		if conn != nil {
			conn.Close(t.Context())
		}
		conn = connect(t, c.url("ana"))
		must(t, conn, "SET dp.relative_error = 0.02; SET dp.max_epsilon = 0.3; SET statement_timeout = '"+timeout+"'")
		return conn
	}
	for _, round := range []time.Duration{time.Second, 4 * time.Second, 9 * time.Second, 50 * time.Second} {
		whole := c.ask(session("0"), read, round, nil)
		if whole.steps < 3 || whole.spent == 0 || whole.code != "" {
			t.Fatalf("a statement that nobody ends: %v", whole)
		}
		for _, timeout := range []string{"15s", "20s", "23s", "30s"} {
			if got := c.ask(session(timeout), read, round, nil); got != whole {
				t.Errorf("rounds of %v, a timeout of %s: %v, want %v", round, timeout, got, whole)
			}
		}
		for step := 2; step <= whole.steps; step++ {
			got := c.ask(session("0"), read, round, func(n int) {
				if n == step {
					_ = conn.PgConn().CancelRequest(context.Background())
				}
			})
			if want := (outcome{whole.steps, whole.spent, whole.took, "57014"}); got != want {
				t.Errorf("rounds of %v, canceled at step %d: %v, want %v", round, step, got, want)
			}
			got = c.ask(session("0"), read, round, func(n int) {
				if n == step {
					_ = conn.PgConn().Conn().Close()
				}
			})
			if got.steps != whole.steps || got.spent != whole.spent || got.took != whole.took {
				t.Errorf("rounds of %v, a client gone at step %d: %v, want %v", round, step, got, whole)
			}
		}
	}
}

// TestRoundsBeginOnGrid holds that the rounds, of which an analyst can ask for more or fewer, do not
// move the points between which the end of a read is told.
func TestRoundsBeginOnGrid(t *testing.T) {
	const quantum, charge, round = 20 * time.Millisecond, 2500 * time.Microsecond, 3 * time.Millisecond
	c := newCutWorld(t, quantum)
	for _, target := range []string{"0.3", "0.05", "0.01"} {
		conn := connect(t, c.url("ana"))
		must(t, conn, "SET dp.relative_error = "+target)
		ends := map[outcome]bool{}
		for _, read := range []time.Duration{
			0, time.Millisecond, 9 * time.Millisecond, 17 * time.Millisecond, quantum - charge, quantum - charge + 1,
		} {
			point := quantum
			if read > quantum-charge {
				point = 28284272 // q·√2
			}
			start, rounds := c.clock.look(), 0
			end := c.ask(conn, read, round, func(n int) {
				if began := c.clock.look().Sub(start) - round; n > 1 && began != point+time.Duration(rounds)*round {
					t.Errorf("a relative error of %s, a read of %v: round %d begins after %v", target, read, n, began)
				}
				rounds = n - 1
			})
			if end.steps < 2 {
				t.Errorf("a relative error of %s: %v", target, end)
			}
			if point == quantum {
				ends[end] = true
			}
		}
		if len(ends) != 1 {
			t.Errorf("a relative error of %s: reads that end before the same point are told apart: %v", target, ends)
		}
	}
}

// brokenNoise panics while it is broken.
type brokenNoise struct{ broken atomic.Bool }

func (s *brokenNoise) Uint64() uint64 {
	if s.broken.Load() {
		panic("no noise")
	}
	return rand.Uint64()
}

// TestPanicBehindVeil holds that a defect behind the charge ends the session at a point of the
// grid, keeps the charge, gives back all that was taken, and is an incident, as a read that fails.
func TestPanicBehindVeil(t *testing.T) {
	clock, noise := &fakeClock{now: time.Unix(1000, 0)}, &brokenNoise{}
	w := accurate(t, func(c *proxy.Config) {
		c.Source, c.Grid = noise, clock.grid(20*time.Millisecond)
		c.Sharing.AnalystSessions = 1
	}, large(t))
	for name, sql := range map[string]string{
		"an answer": "SELECT count(*) FROM patients WHERE birth_year > 1940",
		"a chain":   "/* dp: relative_error=0.02 */ SELECT count(*) FROM patients",
	} {
		before, ana := w.spent(t, accountant.UnitScope, "patient"), connect(t, w.url("ana"))
		incidents, err := w.ledger.Incidents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		noise.broken.Store(true)
		start := clock.look()
		_, err = ana.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		noise.broken.Store(false)
		if took := clock.look().Sub(start); err == nil || took != 20*time.Millisecond {
			t.Errorf("%s: after %v: %v", name, took, err)
		}
		if w.spent(t, accountant.UnitScope, "patient") == before {
			t.Errorf("%s: the charge was taken back", name)
		}
		if after, err := w.ledger.Incidents(t.Context()); err != nil || len(after) != len(incidents)+1 {
			t.Errorf("%s: the incidents are %v, %v", name, after, err)
		}
		ana = connect(t, w.url("ana"))
		if _, err := ana.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); code(err) != "PB011" {
			t.Errorf("%s: the same again: %v", name, err)
		}
		must(t, ana, "SELECT count(*) FROM visits")
		if b, err := w.ledger.Balances(t.Context(),
			accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}); err != nil || b[0].Held.Pico() != 0 {
			t.Errorf("%s: still held: %v, %v", name, b, err)
		}
	}
}
