package proxy_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/proxy"
)

// price is what the unit's budget pays for something.
func (w *world) price(t *testing.T, something func()) int64 {
	t.Helper()
	before := w.spent(t, accountant.UnitScope, "patient")
	something()
	return w.spent(t, accountant.UnitScope, "patient") - before
}

// interrupted asks a statement whose read is interrupted.
func (w *world) interrupted(t *testing.T, conn *pgx.Conn, sql, state string) {
	t.Helper()
	w.gate.Fail(state)
	defer w.gate.Open()
	if _, err := conn.Exec(t.Context(), sql); code(err) != "PB017" {
		t.Errorf("%s while reads end with %s: %v", sql, state, err)
	}
}

func (w *world) incidents(t *testing.T) []accountant.Incident {
	t.Helper()
	all, err := w.ledger.Incidents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestInterruptedReads holds that a read that is interrupted costs once: the same statement asked again is paid, until
// it is answered, and nobody is blamed.
func TestInterruptedReads(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	for i, state := range []string{"57P01", "57P03", "57P04", "40001", "40P01", "08006", "25006", "57P02", "58030"} {
		sql := fmt.Sprint("SELECT count(*) FROM patients WHERE birth_year > ", 1950+i)
		one := w.price(t, func() { w.interrupted(t, ana, sql, state) })
		if one <= 0 {
			t.Errorf("%s: a read that was interrupted costs %d", state, one)
		}
		if more := w.price(t, func() { w.interrupted(t, ana, sql, state); must(t, ana, sql) }); more != 0 {
			t.Errorf("%s: asked again, and once more, it costs %d", state, more)
		}
		if more := w.price(t, func() { must(t, ana, sql) }); more != one {
			t.Errorf("%s: when it was answered it costs %d, want %d", state, more, one)
		}
	}
	if all := w.incidents(t); len(all) > 0 {
		t.Errorf("incidents: %+v", all)
	}
}

// TestPrepaidIsOfTheQuestion holds that what was paid is for one question, of one analyst, under one policy.
func TestPrepaidIsOfTheQuestion(t *testing.T) {
	w := newWorldWith(t, func(c *proxy.Config) {
		c.Analysts["bob"] = proxy.Analyst{Tables: map[catalog.Name]bool{public("patients"): true}}
	})
	ana, bob := connect(t, w.url("ana")), connect(t, w.url("bob"))
	const sql = "SELECT count(*) FROM patients WHERE birth_year > 1950"
	one := w.price(t, func() { w.interrupted(t, ana, sql, "57P01") })
	for name, ask := range map[string]func(){
		"another constant":  func() { must(t, ana, "SELECT count(*) FROM patients WHERE birth_year > 1951") },
		"another analyst":   func() { must(t, bob, sql) },
		"another precision": func() { must(t, ana, "SET dp.epsilon = 39; "+sql+"; RESET dp.epsilon") },
		"another policy": func() {
			other := w.like(t, func(c *proxy.Config) { c.Answers.Version = oneVersion("another") })
			must(t, other, sql)
		},
	} {
		if cost := w.price(t, ask); cost < one/2 {
			t.Errorf("%s: costs %d, where the question costs %d", name, cost, one)
		}
	}
	lines := explained(t, ana, sql)
	if !strings.Contains(lines, "cost: nothing of the budget of unit patient") {
		t.Errorf("EXPLAIN says that it costs:\n%s", lines)
	}
	if cost := w.price(t, func() { must(t, w.like(t, func(*proxy.Config) {}), sql) }); cost != 0 {
		t.Errorf("a dpproxy that was started anew takes %d for what is paid", cost)
	}
	if cost := w.price(t, func() { must(t, ana, sql) }); cost != one {
		t.Errorf("when it was answered it costs %d, want %d", cost, one)
	}
}

// like starts another dpproxy on the ledger of a world, and returns ana's session there.
func (w *world) like(t *testing.T, change func(*proxy.Config)) *pgx.Conn {
	t.Helper()
	other := *w
	other.start(t, func(*pgxpool.Config) {}, change)
	return connect(t, other.url("ana"))
}

func explained(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "EXPLAIN VERBOSE "+sql)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestPrepaidFitsASpentBudget holds that what is paid is answered though nothing is left, unless the budget was frozen.
func TestPrepaidFitsASpentBudget(t *testing.T) {
	w := newWorld(t, limit(t, accountant.UnitScope, "patient", dp.ZCDP, 500))
	ana := w.client(t, "ana")
	ana.set(t, "dp.epsilon = 1", "dp.mechanism = gaussian")
	const sql = "SELECT count(*) FROM patients"
	if cost := w.price(t, func() { w.interrupted(t, ana.Conn, sql, "57P01") }); cost != dp.PicoPerUnit/2 {
		t.Fatalf("it costs %d", cost)
	}
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM visits"); code(err) != "PB001" {
		t.Errorf("another statement: %v", err)
	}
	ana.number(t, sql)
	if !strings.Contains(ana.notice, "paid when its read was interrupted") {
		t.Errorf("the notice is %q", ana.notice)
	}
	if _, err := ana.Exec(t.Context(), sql); code(err) != "PB001" {
		t.Errorf("when it was answered: %v", err)
	}
}

// TestInterruptedRounds holds the same of a statement that is paid by rounds: its first look is prepaid, and the
// rest of its hold is given back.
func TestInterruptedRounds(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.relative_error = 0.9", "dp.max_epsilon = 4")
	const sql = "SELECT count(*) FROM patients"
	one := w.price(t, func() { w.interrupted(t, ana.Conn, sql, "40001") })
	if one <= 0 || one >= 4*dp.PicoPerUnit {
		t.Errorf("a read that was interrupted costs %d", one)
	}
	b, err := w.ledger.Balances(t.Context())
	if err != nil || !b[0].Held.IsZero() {
		t.Errorf("held %v, %v", b, err)
	}
	if more := w.price(t, func() { w.interrupted(t, ana.Conn, sql, "40001"); ana.number(t, sql) }); more != 0 {
		t.Errorf("asked again, it costs %d more", more)
	}
	if more := w.price(t, func() { ana.number(t, sql) }); more != 0 {
		t.Errorf("what was answered costs %d", more)
	}
	// A smaller error goes on from there. Its read is interrupted as well.
	ana.set(t, "dp.relative_error = 0.002")
	if more := w.price(t, func() { w.interrupted(t, ana.Conn, sql, "57P01") }); more <= 0 {
		t.Errorf("a smaller error costs %d", more)
	}
	before := w.spent(t, accountant.UnitScope, "patient")
	ana.number(t, sql)
	if w.spent(t, accountant.UnitScope, "patient") < before {
		t.Error("something was given back")
	}
	if all := w.incidents(t); len(all) > 0 {
		t.Errorf("incidents: %+v", all)
	}
}

// TestSuspectedReads holds that a session that ends without a word is no incident as long as its questions are
// answered later; and that three at different times that are not make the next one an incident.
func TestSuspectedReads(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	broken := func(year int) (string, error) {
		sql := fmt.Sprint("SELECT count(*) FROM patients WHERE birth_year > ", year)
		w.gate.Break()
		defer w.gate.Open()
		_, err := ana.Exec(t.Context(), sql)
		return sql, err
	}
	for year := range 2 * accountant.MaxIncidents {
		sql, err := broken(1950 + year)
		if code(err) != "PB017" {
			t.Fatalf("a session that ended: %v", err)
		}
		must(t, ana, sql)
	}
	var first string
	for year := range accountant.MaxIncidents {
		sql, err := broken(1960 + year)
		if code(err) != "PB017" {
			t.Fatalf("session %d that ended: %v", year, err)
		}
		first = sql
	}
	must(t, ana, first)
	if _, err := broken(1970); code(err) != "PB017" {
		t.Errorf("when one of three was answered: %v", err)
	}
	sql, err := broken(1971)
	if code(err) != "PB009" {
		t.Errorf("when three were not: %v", err)
	}
	want := accountant.Incident{
		Analyst: "ana", Tables: "public.patients", Class: "08", Statement: "SELECT count(*) FROM patients WHERE birth_year > ?",
	}
	all := w.incidents(t)
	if len(all) != 1 || all[0].Charge == 0 || all[0].Shape == "" {
		t.Fatalf("incidents: %+v", all)
	}
	if all[0].Charge, all[0].Shape = 0, ""; all[0] != want {
		t.Errorf("incident %+v, want %+v", all[0], want)
	}
	if _, err := ana.Exec(t.Context(), sql); code(err) != "PB011" {
		t.Errorf("its shape: %v", err)
	}
}

// TestLossesEndSessions holds that reads behind one that was lost have new sessions: those of before may be ended by the same
// event, later, and that would count as another.
func TestLossesEndSessions(t *testing.T) {
	w := newWorld(t)
	w.gate.Shut()
	var all sync.WaitGroup
	for range 2 {
		ana := connect(t, w.url("ana"))
		all.Go(func() { must(t, ana, "SELECT count(*) FROM patients") })
	}
	await.That(t, "two reads wait", func() bool { return w.gate.Waiting() == 2 })
	w.gate.Open()
	all.Wait()
	before := w.readers(t)
	w.gate.Break()
	_, err := connect(t, w.url("ana")).Exec(t.Context(), "SELECT count(*) FROM patients")
	w.gate.Open()
	if len(before) != 2 || code(err) != "PB017" {
		t.Fatalf("of the sessions %v one is lost: %v", before, err)
	}
	await.That(t, "no session of before is left", func() bool {
		return !slices.ContainsFunc(w.readers(t), func(pid int32) bool { return slices.Contains(before, pid) })
	})
}

// readers are the processes of dpproxy's sessions on the protected database.
func (w *world) readers(t *testing.T) []int32 {
	t.Helper()
	conn := connect(t, w.data.URL("postgres", pgtemp.Superuser))
	rows, err := conn.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'dpproxy'")
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// TestFailuresAreNotPrepaid holds that what may have failed by a row stays paid and unanswered.
func TestFailuresAreNotPrepaid(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	const sql = "SELECT count(*) FROM patients"
	w.gate.Fail("53200")
	if _, err := ana.Exec(t.Context(), sql); code(err) != "PB009" {
		t.Fatal(err)
	}
	w.gate.Open()
	if err := w.ledger.ClearIncidents(t.Context(), "", "the disk was full"); err != nil {
		t.Fatal(err)
	}
	if cost := w.price(t, func() { must(t, ana, sql) }); cost == 0 {
		t.Error("what failed for want of memory is asked again for nothing")
	}
}
