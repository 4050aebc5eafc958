package proxy_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/await"
	"dpproxy/proxy"
)

// A crowd is a dpproxy whose analysts ask the same at the same time.
type crowd struct {
	*world

	t      *testing.T
	ledger *strictLedger
	asked  int
}

// newCrowd has two analysts, who have budgets of their own.
func newCrowd(t *testing.T, change func(*proxy.Config)) *crowd {
	t.Helper()
	c := &crowd{t: t, ledger: &strictLedger{}}
	own := large(t).Loss
	limits := []accountant.Limit{large(t)}
	for _, name := range []string{"ana", "bob"} {
		limits = append(limits, accountant.Limit{Scope: accountant.Scope{Kind: accountant.AnalystScope, Name: name}, Loss: own})
	}
	c.world = accurate(t, func(cfg *proxy.Config) {
		for _, name := range []string{"ana", "bob"} {
			cfg.Analysts[name] = proxy.Analyst{Tables: cfg.Analysts["ana"].Tables, Budget: true}
		}
		c.ledger.Ledger, cfg.Ledger = cfg.Ledger, c.ledger
		cfg.LeftReads = 2
		change(cfg)
	}, limits...)
	exec(t, c.mirror, "GRANT SELECT ON patients, visits TO bob")
	return c
}

// strictLedger can hold charges back, and refuse the next one.
type strictLedger struct {
	accountant.Ledger

	mu      sync.Mutex
	hold    chan struct{} // nil: no charge waits
	refusal error
}

func (l *strictLedger) Charge(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	l.mu.Lock()
	hold, refusal := l.hold, l.refusal
	l.refusal = nil
	l.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if refusal != nil {
		return 0, refusal
	}
	return l.Ledger.Charge(ctx, c)
}

func (l *strictLedger) set(hold chan struct{}, refusal error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold, l.refusal = hold, refusal
}

// question is one that nobody has asked.
func (c *crowd) question() string {
	c.asked++
	return fmt.Sprint("SELECT count(*) FROM patients WHERE birth_year > ", 1900+c.asked)
}

// An answer is the reply to one session.
type answer struct {
	number float64
	code   string
	notice string
	err    error
}

// asking is a session that waits for a reply.
type asking struct {
	*client
	reply chan answer
}

// asks has a session of an analyst ask.
func (c *crowd) asks(user, sql string, settings ...string) *asking {
	c.t.Helper()
	a := &asking{c.client(c.t, user), make(chan answer, 1)}
	a.set(c.t, settings...)
	go func() {
		var got answer
		got.err = a.QueryRow(context.WithoutCancel(c.t.Context()), sql).Scan(&got.number)
		got.code, got.notice = code(got.err), a.notice
		a.reply <- got
	}()
	return a
}

// all has n sessions of ana ask, the first of them first, and returns when they wait for its read.
func (c *crowd) all(n int, sql string, settings ...string) []*asking {
	c.t.Helper()
	all := []*asking{c.asks("ana", sql, settings...)}
	await.That(c.t, "the first one reads", func() bool { reads, _ := c.proxy.Waiting(); return reads == 1 })
	for range n - 1 {
		all = append(all, c.asks("ana", sql, settings...))
	}
	await.That(c.t, "the others wait for it", func() bool { _, waiting := c.proxy.Waiting(); return waiting == n-1 })
	return all
}

// same holds that all get the same number.
func (c *crowd) same(all []*asking) (number float64) {
	c.t.Helper()
	for i, a := range all {
		got := <-a.reply
		if got.err != nil {
			c.t.Errorf("session %d: %v", i, got.err)
		}
		if i > 0 && got.number != number {
			c.t.Errorf("session %d is told %v, and the first %v", i, got.number, number)
		}
		number = got.number
	}
	return number
}

// refused holds that all are refused alike.
func (c *crowd) refused(all []*asking, want string) {
	c.t.Helper()
	for i, a := range all {
		if got := <-a.reply; got.code != want {
			c.t.Errorf("session %d: %v, want %s", i, got.err, want)
		}
	}
}

// alone is the price of a question that nobody has asked, for the unit.
func (c *crowd) alone() int64 {
	c.t.Helper()
	return c.price(c.t, func() { c.same([]*asking{c.asks("ana", c.question())}) })
}

// idle waits until nothing is under way.
func (c *crowd) idle() {
	c.t.Helper()
	await.That(c.t, "no read is under way", func() bool { reads, waiting := c.proxy.Waiting(); return reads+waiting == 0 })
}

// TestOnce holds that a question is paid once, whoever asks it while its answer is on its way, and whatever becomes of the first.
func TestOnce(t *testing.T) {
	c := newCrowd(t, func(*proxy.Config) {})
	one := c.alone()
	for _, test := range []struct {
		name string
		run  func(c *crowd)
		cost int64 // of the unit, in prices of one question; -1: it does not matter
	}{
		{"twenty sessions", twentySessions, 1},
		{"the first is cancelled", firstIsCancelled, 1},
		{"the first is cancelled, and asks again", firstAsksAgain, 1},
		{"the first is killed", firstIsKilled, 1},
		{"all go away", allGoAway, 1},
		{"the ledger refuses the first", ledgerRefusesFirst, 1},
		{"the read fails", readFails, 1},
		{"the read is interrupted", readIsInterrupted, 1},
		{"another analyst", anotherAnalyst, 1},
		{"equal blocks of a statement", equalBlocks, 1},
		{"another epsilon", anotherEpsilon, -1},
		{"a statement with a released threshold", thresholds, 2},
		{"a sharper error", sharperError, -1},
		{"one too many is left", oneTooMany, 4},
		{"dp.spend", spends, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			part := *c
			part.t = t
			defer c.gate.Open()
			cost := part.price(t, func() { c.gate.Shut(); test.run(&part); part.idle() })
			c.asked = part.asked
			if test.cost >= 0 && cost != test.cost*one {
				t.Errorf("the unit has paid %v for %d times %v", cost, test.cost, one)
			}
		})
	}
	if stack := stacks(); strings.Contains(stack, "proxy.(*drawing)") || strings.Contains(stack, "proxy.(*veil)") {
		t.Errorf("something goes on:\n%s", stack)
	}
}

// stacks are those of all goroutines.
func stacks() string {
	text := make([]byte, 1<<22)
	return string(text[:runtime.Stack(text, true)])
}

func twentySessions(c *crowd) {
	sql := c.question()
	own := c.spent(c.t, accountant.AnalystScope, "ana")
	all := c.all(20, sql)
	c.gate.Open()
	number := c.same(all)
	own = c.spent(c.t, accountant.AnalystScope, "ana") - own
	c.t.Logf("20 sessions: one number, %v; the analyst's own budget has paid %d", number, own)
	if again := c.same([]*asking{c.asks("ana", sql)}); again != number {
		c.t.Errorf("asked again, it is %v", again)
	}
}

func firstIsCancelled(c *crowd) {
	all := c.all(20, c.question())
	if err := all[0].PgConn().CancelRequest(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.refused(all[:1], "57014")
	c.gate.Open()
	c.same(all[1:])
}

// left has a client leave a question that is read.
func (c *crowd) left(sql string) *asking {
	c.t.Helper()
	before := c.gate.Waiting()
	a := c.asks("ana", sql)
	await.That(c.t, "it reads", func() bool { return c.gate.Waiting() == before+1 })
	if err := a.PgConn().CancelRequest(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.refused([]*asking{a}, "57014")
	return a
}

func firstAsksAgain(c *crowd) {
	sql := c.question()
	first := c.left(sql)
	before := explained(c.t, first.Conn, sql)
	if !strings.Contains(before, " % of ") || strings.Contains(before, "cost: nothing of ") {
		c.t.Errorf("EXPLAIN says, before it is answered:\n%s", before)
	}
	retries := []*asking{c.asks("ana", sql), c.asks("ana", sql, "statement_timeout = '100ms'")}
	c.refused(retries[1:], "57014")
	c.gate.Open()
	c.same(retries[:1])
}

func firstIsKilled(c *crowd) {
	all := c.all(20, c.question())
	all[0].PgConn().Conn().Close()
	<-all[0].reply
	c.gate.Open()
	c.same(all[1:])
}

// allGoAway has the read go on for nobody: its answer is remembered.
func allGoAway(c *crowd) {
	sql := c.question()
	all := c.all(5, sql)
	for _, a := range all {
		a.PgConn().Conn().Close()
		<-a.reply
	}
	await.That(c.t, "nobody waits", func() bool { reads, waiting := c.proxy.Waiting(); return reads == 1 && waiting == 0 })
	c.gate.Open()
	c.idle()
	if got := <-c.asks("ana", sql).reply; got.err != nil || !strings.Contains(got.notice, "answered before") {
		c.t.Errorf("asked again: %+v", got)
	}
}

func ledgerRefusesFirst(c *crowd) {
	hold := make(chan struct{})
	c.ledger.set(hold, accountant.ErrUnavailable)
	all := c.all(20, c.question())
	c.ledger.set(nil, nil)
	close(hold)
	c.gate.Open()
	c.refused(all[:1], "PB014")
	c.same(all[1:])
}

func readFails(c *crowd) {
	sql := c.question()
	all := c.all(20, sql)
	c.gate.Fail("53200")
	c.refused(all, "PB009")
	if n := len(c.incidents(c.t)); n != 1 {
		c.t.Errorf("%d incidents", n)
	}
	c.refused([]*asking{c.asks("ana", sql)}, "PB011")
	if err := c.ledger.ClearIncidents(c.t.Context(), "", "the disk was full"); err != nil {
		c.t.Fatal(err)
	}
}

func readIsInterrupted(c *crowd) {
	sql := c.question()
	all := c.all(20, sql)
	c.gate.Fail("40001")
	c.refused(all, "PB017")
	c.gate.Shut()
	again := c.all(20, sql)
	c.gate.Open()
	c.same(again)
	if n := len(c.incidents(c.t)); n != 0 {
		c.t.Errorf("%d incidents", n)
	}
}

// anotherAnalyst has paid nothing before: the answer costs them its price, and the unit nothing.
func anotherAnalyst(c *crowd) {
	sql := c.question()
	before := c.spent(c.t, accountant.AnalystScope, "bob")
	all := append(c.all(2, sql), c.asks("bob", sql), c.asks("bob", sql))
	await.That(c.t, "they wait", func() bool { _, waiting := c.proxy.Waiting(); return waiting == 3 })
	if c.spent(c.t, accountant.AnalystScope, "bob") != before {
		c.t.Error("bob has paid for waiting")
	}
	c.gate.Open()
	c.same(all)
	paid := c.spent(c.t, accountant.AnalystScope, "bob") - before
	c.same([]*asking{c.asks("bob", sql)})
	if all := c.spent(c.t, accountant.AnalystScope, "bob") - before; paid <= 0 || all < paid || all > 2*paid {
		c.t.Errorf("bob has paid %d, and %d in all", paid, all)
	}
}

// equalBlocks has one statement ask the same twice: it is read once, and is the same question as alone.
func equalBlocks(c *crowd) {
	sql := c.question()
	all := []*asking{c.asks("ana", fmt.Sprintf("SELECT (%s) - (%s)", sql, sql))}
	c.gate.Open()
	if difference := c.same(all); difference != 0 {
		c.t.Errorf("it differs from itself by %v", difference)
	}
	if got := <-c.asks("ana", sql).reply; got.err != nil || !strings.Contains(got.notice, "answered before") {
		c.t.Errorf("asked alone: %+v", got)
	}
}

func anotherEpsilon(c *crowd) {
	sql := c.question()
	first := c.asks("ana", "/* dp: epsilon=0.1 */ "+sql)
	await.That(c.t, "the first reads", func() bool { return c.gate.Waiting() == 1 })
	more := c.asks("ana", sql)
	await.That(c.t, "the second waits", func() bool { _, waiting := c.proxy.Waiting(); return waiting == 1 })
	c.gate.Open()
	rough, precise := c.same([]*asking{first}), c.same([]*asking{more}) // which is drawn anew
	if again := c.same([]*asking{c.asks("ana", "/* dp: epsilon=0.1 */ "+sql)}); again != precise {
		c.t.Errorf("it is %v, and the most precise draw was %v, not %v", again, precise, rough)
	}
}

// thresholds has a result released before the statement that uses it.
func thresholds(c *crowd) {
	sql := fmt.Sprintf("SELECT count(*) FROM patients WHERE birth_year > (%s)", c.question())
	all := c.all(5, sql)
	c.gate.Open()
	c.same(all)
}

// sharperError has a statement wait that asks for a smaller error: it pays for the rest alone. The others are told the same number.
func sharperError(c *crowd) {
	sql := c.question()
	coarse := c.all(3, sql, "dp.relative_error = 0.2", "dp.max_epsilon = 4")
	fine := c.asks("ana", sql, "dp.relative_error = 0.01", "dp.max_epsilon = 4")
	await.That(c.t, "it waits", func() bool { _, waiting := c.proxy.Waiting(); return waiting == 3 })
	c.gate.Open()
	finer := <-fine.reply
	if finer.err != nil || !strings.Contains(finer.notice, "refined what was measured before") {
		c.t.Errorf("a smaller error: %+v", finer)
	}
	told := map[float64]bool{}
	for i, a := range coarse {
		got := <-a.reply
		if got.err != nil {
			c.t.Errorf("session %d: %v", i, got.err)
		}
		told[got.number] = true
	}
	delete(told, finer.number) // who looks when that is there is told the finer answer
	if len(told) > 1 {
		c.t.Errorf("the others are told %v", told)
	}
}

// oneTooMany has a third read end with its client, where two may be left.
func oneTooMany(c *crowd) {
	var asked []string
	for range 3 {
		asked = append(asked, c.question())
		c.left(asked[len(asked)-1])
	}
	if reads, _ := c.proxy.Waiting(); reads != 2 {
		c.t.Errorf("%d reads go on", reads)
	}
	c.gate.Open()
	for _, sql := range asked {
		c.same([]*asking{c.asks("ana", sql)})
	}
}

// spends holds that nothing says that an answer is on its way: what it costs has to be wanted.
func spends(c *crowd) {
	sql := c.question()
	first := c.asks("ana", sql)
	await.That(c.t, "it reads", func() bool { return c.gate.Waiting() == 1 })
	c.refused([]*asking{c.asks("ana", sql, "dp.spend = never")}, "PB018")
	confirmed := c.client(c.t, "ana")
	confirmed.set(c.t, "dp.spend = confirmed")
	if _, err := confirmed.Exec(c.t.Context(), sql); code(err) != "PB018" {
		c.t.Errorf("unconfirmed: %v", err)
	}
	reply := make(chan error, 1)
	go func() {
		_, err := confirmed.Exec(context.WithoutCancel(c.t.Context()), sql)
		reply <- err
	}()
	await.That(c.t, "the confirmed one waits", func() bool { _, waiting := c.proxy.Waiting(); return waiting == 1 })
	c.gate.Open()
	if err := <-reply; err != nil {
		c.t.Error(err)
	}
	c.same([]*asking{first, c.asks("ana", sql, "dp.spend = never")})
}

// TestOnceWithinABudget holds that all get the answer that the budget has room for once.
func TestOnceWithinABudget(t *testing.T) {
	w := &crowd{t: t, ledger: &strictLedger{}}
	w.world = accurate(t, func(cfg *proxy.Config) { cfg.LeftReads = 1 }, limit(t, accountant.UnitScope, "patient", dp.ZCDP, 700))
	for _, sql := range []string{w.question()} {
		w.gate.Shut()
		all := w.all(10, sql)
		w.gate.Open()
		w.same(all)
	}
	w.refused([]*asking{w.asks("ana", w.question())}, "PB001")
}

// TestLimitOfLeftReads holds that the policy's limit ends a read for all who wait for it, and that asking again costs then.
func TestLimitOfLeftReads(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1000, 0)}
	c := newCrowd(t, func(cfg *proxy.Config) { cfg.Defaults.Timeout, cfg.Grid = 10*time.Second, clock.grid(time.Second) })
	one, sql := c.alone(), c.question()
	c.gate.Shut()
	cost := c.price(t, func() {
		all := c.all(3, sql)
		if err := all[0].PgConn().CancelRequest(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.refused(all[:1], "57014")
		clock.pass(12 * time.Second)
		c.refused(all[1:], "57014")
		c.idle()
	})
	c.gate.Open()
	if cost != one {
		t.Errorf("a read that was ended costs %d, want %d", cost, one)
	}
	if cost := c.price(t, func() { c.same([]*asking{c.asks("ana", sql)}) }); cost != one {
		t.Errorf("asked again it costs %d, want %d", cost, one)
	}
}

// TestFinish holds that dpproxy can end while reads go on without their clients.
func TestFinish(t *testing.T) {
	c := newCrowd(t, func(*proxy.Config) {})
	sql := c.question()
	c.gate.Shut()
	c.left(sql)
	if reads, _ := c.proxy.Waiting(); reads != 1 {
		t.Fatalf("%d reads go on", reads)
	}
	finished, now := make(chan struct{}), make(chan struct{})
	rest, end := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		close(now)
		c.proxy.Finish(rest)
		close(finished)
	}()
	<-now
	end()
	<-finished
	if reads, _ := c.proxy.Waiting(); reads != 0 {
		t.Errorf("%d reads go on", reads)
	}
	if all := c.incidents(t); len(all) > 0 {
		t.Errorf("incidents: %+v", all)
	}
	c.gate.Open()
	if cost := c.price(t, func() { must(t, c.like(t, func(cfg *proxy.Config) { cfg.LeftReads = 2 }), sql) }); cost == 0 {
		t.Error("a read that was ended is asked again for nothing")
	}
}
