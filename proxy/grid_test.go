package proxy_test

import (
	"sync"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/proxy"
)

// A fakeClock goes on when it is asked, and when someone waits on it.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	tick   time.Duration // what passes with each look at the clock
	waited []time.Duration
	during func() // runs in each wait
}

func (c *fakeClock) look() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now
	c.now = c.now.Add(c.tick)
	return now
}

func (c *fakeClock) wait(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.waited = append(c.waited, d)
	during := c.during
	c.mu.Unlock()
	if during != nil {
		during()
	}
}

// set changes what the clock does from now on, and returns the waits so far.
func (c *fakeClock) set(tick time.Duration, during func()) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	waited := c.waited
	c.tick, c.during, c.waited = tick, during, nil
	return waited
}

func TestReplyGrid(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1000, 0)}
	grid := proxy.Grid{Quantum: 20 * time.Millisecond, Now: clock.look, Wait: clock.wait}
	w := newWorldWith(t, func(c *proxy.Config) { c.Grid = grid })
	ana := connect(t, w.url("ana"))
	const count = "SELECT count(*) FROM patients"
	once := func(what string, want ...time.Duration) {
		t.Helper()
		waited := clock.set(0, nil)
		if len(waited) != len(want) || len(want) == 1 && waited[0] != want[0] {
			t.Errorf("%s waited %v, want %v", what, waited, want)
		}
	}

	must(t, ana, count)
	once("an answer at once", 20*time.Millisecond)
	clock.set(7*time.Millisecond, nil)
	must(t, ana, count)
	once("an answer after 7 ms", 13*time.Millisecond)
	clock.set(33*time.Millisecond, nil)
	must(t, ana, count)
	once("an answer after 33 ms", 7*time.Millisecond)

	for _, free := range []string{"EXPLAIN " + count, "SELECT 1", "SELECT * FROM dp.budget"} {
		must(t, ana, free)
		once(free)
	}
	for _, refused := range []string{"SELECT * FROM patients", "/* dp: epsilon=1000 */ SELECT count(*) FROM labs WHERE nothing = 1"} {
		if _, err := ana.Exec(t.Context(), refused); err == nil {
			t.Errorf("%s was answered", refused)
		}
		once(refused)
	}

	before := w.spent(t, accountant.UnitScope, "patient")
	clock.set(0, func() {
		if err := ana.PgConn().CancelRequest(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if _, err := ana.Exec(t.Context(), count); code(err) != "57014" {
		t.Errorf("a cancel request while the reply is held back: %v", err)
	}
	once("a canceled answer", 20*time.Millisecond)
	if w.spent(t, accountant.UnitScope, "patient") == before {
		t.Error("the charge was taken back")
	}
	must(t, ana, count)
	once("the answer behind it", 20*time.Millisecond)
}

// A read that fails leaves on the grid, as does one that the session's own timeout ends.
func TestReplyGridOfFailures(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1000, 0)}
	grid := proxy.Grid{Quantum: 20 * time.Millisecond, Now: clock.look, Wait: clock.wait}
	w := newWorldWith(t, func(c *proxy.Config) { c.Grid = grid })
	ana := connect(t, w.url("ana"))
	lock := connect(t, w.data.URL("postgres", "postgres"))
	must(t, lock, "BEGIN; LOCK TABLE patients IN ACCESS EXCLUSIVE MODE")
	must(t, ana, "SET statement_timeout = '500ms'")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); code(err) != "57014" {
		t.Errorf("a read that runs into the session's timeout: %v", err)
	}
	if waited := clock.set(0, nil); len(waited) != 1 {
		t.Errorf("a timeout waited %v", waited)
	}
	must(t, ana, "SET statement_timeout = 0")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); code(err) != "PB009" {
		t.Errorf("a read that meets a lock: %v", err)
	}
	if waited := clock.set(0, nil); len(waited) != 1 {
		t.Errorf("a failed read waited %v", waited)
	}
	must(t, lock, "ROLLBACK")
}
