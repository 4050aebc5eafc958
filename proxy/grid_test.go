package proxy_test

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// A fakeClock goes on when it is asked, and when someone waits on it.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	tick   time.Duration // time that passes with each look at the clock
	waited []time.Duration
	during func() // runs in each wait
	timers []*fakeTimer
}

type fakeTimer struct {
	at  time.Time
	run func()
}

// grid is a grid on the clock.
func (c *fakeClock) grid(quantum time.Duration) proxy.Grid {
	return proxy.Grid{Quantum: quantum, Now: c.look, Wait: c.wait, After: c.after}
}

func (c *fakeClock) after(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &fakeTimer{c.now.Add(d), f}
	c.timers = append(c.timers, timer)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		n := len(c.timers)
		c.timers = slices.DeleteFunc(c.timers, func(other *fakeTimer) bool { return other == timer })
		return len(c.timers) < n
	}
}

// due runs the timers whose time has come.
func (c *fakeClock) due() {
	c.mu.Lock()
	var due []*fakeTimer
	c.timers = slices.DeleteFunc(c.timers, func(timer *fakeTimer) bool {
		is := !timer.at.After(c.now)
		if is {
			due = append(due, timer)
		}
		return is
	})
	c.mu.Unlock()
	for _, timer := range due {
		timer.run()
	}
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
	c.due()
	if during != nil {
		during()
	}
}

// waiting counts the timers that wait for their time.
func (c *fakeClock) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// pass lets time pass.
func (c *fakeClock) pass(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	c.due()
}

// set changes the clock from now on, and returns the waits so far.
func (c *fakeClock) set(tick time.Duration, during func()) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	waited := c.waited
	c.tick, c.during, c.waited = tick, during, nil
	return waited
}

func TestReplyGrid(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1000, 0)}
	w := newWorldWith(t, func(c *proxy.Config) { c.Grid = clock.grid(20 * time.Millisecond) },
		limit(t, accountant.UnitScope, "patient", dp.ZCDP, 9_000_000), limit(t, accountant.TableScope, "public.labs", dp.ZCDP, 1))
	ana := connect(t, w.url("ana"))
	const count = "SELECT count(*) FROM patients"
	once := func(what string, want ...time.Duration) {
		t.Helper()
		if waited := clock.set(0, nil); !slices.Equal(waited, want) {
			t.Errorf("%s waited %v, want %v", what, waited, want)
		}
	}
	const charge, rest = 2500 * time.Microsecond, 17500 * time.Microsecond

	must(t, ana, count)
	once("an answer at once", charge, rest)
	clock.set(7*time.Millisecond, nil)
	must(t, ana, count)
	// The clock is looked at twice behind the charge: for the end of the read at the latest, and for that of the reply.
	once("a charge after 7 ms, an answer after 14 more", 71068*time.Nanosecond, 28284272*time.Nanosecond-21071068*time.Nanosecond)
	clock.set(33*time.Millisecond, nil)
	must(t, ana, count)
	once("a charge after 33 ms, an answer after 66 more", 7*time.Millisecond, 113137085*time.Nanosecond-106*time.Millisecond)

	for _, free := range []string{"EXPLAIN " + count, "SELECT 1", "SELECT * FROM dp.budget"} {
		must(t, ana, free)
		once(free)
	}
	for _, refused := range []string{
		"SELECT * FROM patients", "/* dp: epsilon=1000 */ SELECT count(*) FROM labs WHERE nothing = 1",
		"SELECT count(*) FROM labs", // for its price
	} {
		if _, err := ana.Exec(t.Context(), refused); err == nil {
			t.Errorf("%s was answered", refused)
		}
		once(refused)
	}

	before := w.spent(t, accountant.UnitScope, "patient")
	cancelIn := func(wait int) {
		t.Helper()
		clock.set(0, func() {
			if wait--; wait > 0 {
				return
			}
			if err := ana.PgConn().CancelRequest(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if _, err := ana.Exec(t.Context(), count); code(err) != "57014" {
			t.Errorf("a cancel request while the reply is held back: %v", err)
		}
	}
	cancelIn(1)
	once("a statement that is canceled before its charge", charge)
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("it was charged")
	}
	cancelIn(2)
	once("a canceled answer", charge, rest)
	if w.spent(t, accountant.UnitScope, "patient") == before {
		t.Error("the charge was taken back")
	}
	must(t, ana, count)
	once("the answer behind it", charge, rest)
}

// A read that fails leaves on the grid. One that the session's own timeout ends is ended there.
func TestReplyGridOfFailures(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1000, 0)}
	w := newWorldWith(t, func(c *proxy.Config) { c.Grid = clock.grid(20 * time.Millisecond) })
	ana := connect(t, w.url("ana"))
	must(t, ana, "SET statement_timeout = '10s'")
	w.gate.Shut()
	err := w.whileItReads(t, ana, "SELECT count(*) FROM patients", func() {
		timers := clock.waiting()
		clock.pass(10*time.Second + 200*time.Millisecond)
		if clock.waiting() != timers {
			t.Error("a read is ended by the session's timeout before the next point")
		}
		clock.pass(50 * time.Millisecond) // 10.24 s is a point
	})
	if code(err) != "57014" {
		t.Errorf("a read that runs into the session's timeout: %v", err)
	}
	if waited := clock.set(0, nil); len(waited) != 1 {
		t.Errorf("a timeout waited %v", waited) // for the charge alone
	}
	must(t, ana, "SET statement_timeout = 0")
	w.gate.Fail("53200")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); code(err) != "PB009" {
		t.Errorf("a read that fails: %v", err)
	}
	if waited := clock.set(0, nil); len(waited) != 2 {
		t.Errorf("a failed read waited %v", waited)
	}
	w.gate.Open()
	admin := connect(t, w.data.URL("postgres", "postgres"))
	lock(t, admin, "patients")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients WHERE smoker"); code(err) != "PB015" {
		t.Errorf("a statement that meets a lock: %v", err)
	}
	if waited := clock.set(0, nil); len(waited) != 1 || waited[0] != 2500*time.Microsecond {
		t.Errorf("what fails before its charge waited %v", waited)
	}
	unlock(t, admin)
}

// TestReplyGridCannotBeAimed holds that nothing an analyst can make take long lies between the
// points of time that a reply is counted from and at which it leaves.
func TestReplyGridCannotBeAimed(t *testing.T) {
	const quantum, pause = 20 * time.Millisecond, 13 * time.Millisecond
	clock := &fakeClock{now: time.Unix(1000, 0)}
	w := newWorldWith(t, func(c *proxy.Config) { c.Grid = clock.grid(quantum) })
	asked := 0
	w.tap = &tap{before: func(string) { // the mirror takes its time
		asked++
		clock.pass(pause)
	}}
	ana := connect(t, w.url("ana"))
	must(t, ana, "PREPARE slow AS SELECT count(*) FROM patients WHERE birth_year > $1")
	const sql = "SELECT count(*) FROM patients WHERE birth_year > (SELECT %s + length(pg_sleep(0)::text))"
	for name, ask := range map[string]func() error{
		"a constant": func() error {
			_, err := ana.Exec(t.Context(), fmt.Sprintf(sql, "1930"), pgx.QueryExecModeSimpleProtocol)
			return err
		},
		"a parameter": func() error {
			return ana.PgConn().ExecParams(t.Context(), fmt.Sprintf(sql, "$1"), [][]byte{[]byte("1931")}, []uint32{23}, nil, nil).Read().Err
		},
		"an argument": func() error {
			_, err := ana.Exec(t.Context(), "EXECUTE slow((SELECT 1932 + length(pg_sleep(0)::text)))", pgx.QueryExecModeSimpleProtocol)
			return err
		},
		"CREATE TABLE AS": func() error {
			_, err := ana.Exec(t.Context(), "CREATE TEMP TABLE slow AS "+fmt.Sprintf(sql, "1933"), pgx.QueryExecModeSimpleProtocol)
			return err
		},
		"COPY": func() error {
			_, err := ana.PgConn().CopyTo(t.Context(), io.Discard, "COPY ("+fmt.Sprintf(sql, "1934")+") TO STDOUT")
			return err
		},
		"a cursor": func() error {
			_, err := ana.Exec(t.Context(), "BEGIN; DECLARE c CURSOR FOR "+fmt.Sprintf(sql, "1935")+"; COMMIT",
				pgx.QueryExecModeSimpleProtocol)
			return err
		},
	} {
		clock.set(0, nil)
		asked = 0
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var sum time.Duration
		for _, d := range clock.set(0, nil) {
			sum += d
		}
		if asked == 0 || sum != quantum {
			t.Errorf("%s: the mirror was asked %d times for %v each, and the reply waited %v, want %v", name, asked, pause, sum, quantum)
		}
	}
}
