package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/pgerr"
	"dpproxy/proxy"
)

// code returns the SQLSTATE of an error.
func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func must(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// TestSessions are the tests that leave their world as it was.
func TestSessions(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"answers": testAnswers, "refusals": testRefusals, "charges": testWhatIsCharged, "portal": testPortalInPieces,
		"rows": testWithoutRows, "suggestions": testSuggestions, "long planning": testLongPlanning,
		"separate": testSessionsAreSeparate, "backstop": testBackstop, "EXECUTE": testExecute, "EXECUTE elsewhere": testExecuteElsewhere,
		"constants once": testConstantsOnce,
	} {
		t.Run(name, func(t *testing.T) { test(t, w) })
	}
}

// testConstantsOnce asks with a sequence, which moves with each evaluation. A constant has one value in all places of a statement, and its
// sub-select is evaluated once, however often the statement is planned.
func testConstantsOnce(t *testing.T, w *world) {
	ana := connect(t, w.url("ana"))
	must(t, ana, "CREATE TEMP SEQUENCE steps")
	const row = "WITH p AS (SELECT CAST((SELECT 200 * nextval('steps')) AS int) AS n) "
	for i, sql := range []string{
		row + "SELECT n, c FROM p, (SELECT count(*) AS c FROM patients, p WHERE patients.id > p.n) t",
		row + "SELECT n, c FROM (SELECT count(*) AS c FROM patients JOIN p ON id > n) t, p",
		row + ", q AS (SELECT n FROM p) SELECT n, (SELECT count(*) FROM patients, q WHERE id > n AND id > q.n - 1) FROM q",
		"WITH p AS (SELECT 200 * nextval('steps') AS n) SELECT n, c FROM p, (SELECT count(*) AS c FROM patients, p WHERE id > p.n) t",
	} {
		var n, count int
		if err := ana.QueryRow(t.Context(), sql).Scan(&n, &count); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if n != 200*(i+1) || count < 1000-n-20 || count > 1000-n+20 {
			t.Errorf("%s: %d and %d", sql, n, count)
		}
	}
}

// Everything here happens once in a session, and its cost is checked after
// each step: one default count costs the same every time.
func testWhatIsCharged(t *testing.T, w *world) {
	ana := connect(t, w.url("ana"))
	last, price := w.spent(t, accountant.UnitScope, "patient"), int64(0)
	charged := func(what string, times int64) {
		t.Helper()
		now := w.spent(t, accountant.UnitScope, "patient")
		if now-last != times*price {
			t.Errorf("%s cost %d, want %d times %d", what, now-last, times, price)
		}
		last = now
	}
	must(t, ana, "SELECT count(*) FROM patients")
	price = w.spent(t, accountant.UnitScope, "patient") - last
	last += price
	if price/dp.PicoPerUnit != 39 && price != 40*dp.PicoPerUnit { // the cheaper of ρ for ε = 40: Laplace, just below ε
		t.Errorf("a count costs %d", price)
	}

	must(t, ana, "BEGIN; SELECT count(*) FROM patients; ROLLBACK")
	charged("a statement that was rolled back", 1)

	must(t, ana, "BEGIN; DECLARE c CURSOR FOR SELECT sex, count(*) FROM patients GROUP BY sex; FETCH 1 FROM c; FETCH ALL FROM c; COMMIT")
	charged("a cursor fetched in pieces", 1)

	must(t, ana, "CREATE TEMP TABLE mine AS SELECT sex, count(*) AS n FROM patients GROUP BY sex")
	charged("CREATE TABLE AS", 1)
	must(t, ana, "SELECT * FROM mine; SELECT sum(n) FROM mine")
	charged("reading one's own table", 0)

	var out bytes.Buffer
	if _, err := ana.PgConn().CopyTo(t.Context(), &out,
		"COPY (SELECT sex, count(*) FROM patients GROUP BY sex ORDER BY sex) TO STDOUT"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 || !strings.HasPrefix(out.String(), "f\t3") {
		t.Errorf("COPY gave %q", out.String())
	}
	charged("COPY", 1)

	must(t, ana, "EXPLAIN SELECT count(*) FROM patients")
	charged("EXPLAIN", 0)
	must(t, ana, "SELECT * FROM dp.budget")
	charged("dp.budget", 0)
	must(t, ana, "SELECT sex FROM patients GROUP BY sex")
	charged("public groups", 0)
	must(t, ana, "SELECT sex, count(*) AS n INTO TEMP TABLE into_mine FROM patients GROUP BY sex; SELECT n FROM into_mine")
	charged("SELECT INTO", 1)
	must(t, ana, "SELECT * FROM patients LIMIT 0")
	charged("a probe for columns", 0)
	if _, err := ana.Prepare(t.Context(), "p", "SELECT count(*) FROM patients WHERE birth_year > $1"); err != nil {
		t.Fatal(err)
	}
	charged("a prepared statement", 0)
	for _, year := range []int{1950, 1960, 1970} {
		var n int64
		if err := ana.QueryRow(t.Context(), "p", year).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	charged("a prepared statement that ran three times", 3)
	if _, err := ana.Exec(t.Context(), "p", "no number"); err == nil {
		t.Error("a bad parameter was accepted")
	}
	charged("a bad parameter", 0)

	must(t, ana, "SET client_encoding = 'UNICODE'")
	must(t, ana, "SELECT count(*) FROM patients")
	charged("a count with the older name of UTF8", 1)
}

// A portal that is executed in pieces is one release.
func testPortalInPieces(t *testing.T, w *world) {
	ana := connect(t, w.url("ana"))
	tx, err := ana.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	before := w.spent(t, accountant.UnitScope, "patient")
	p := pieces{t, ana.PgConn()}
	rows := p.run("SELECT sex, count(*) FROM patients GROUP BY sex ORDER BY sex")
	if rows != 3 {
		t.Errorf("%d rows in pieces, want 3", rows)
	}
	if n := w.spent(t, accountant.UnitScope, "patient") - before; n <= 0 || n > 40*dp.PicoPerUnit {
		t.Errorf("three pieces cost %d", n)
	}
}

func testSessionsAreSeparate(t *testing.T, w *world) {
	ana, bob := connect(t, w.url("ana")), connect(t, w.url("bob"))
	if _, err := bob.Exec(t.Context(), "SELECT count(*) FROM patients"); code(err) != "42501" {
		t.Errorf("an analyst without the table: %v", err)
	}
	before := w.spent(t, accountant.UnitScope, "patient")
	// A temporary table of the name is the analyst's own: the protected one is
	// reached by its schema.
	must(t, ana, "CREATE TEMP TABLE patients (id int); INSERT INTO patients VALUES (1), (2)")
	var n int64
	if err := ana.QueryRow(t.Context(), "SELECT count(*) FROM patients").Scan(&n); err != nil || n != 2 {
		t.Errorf("a temporary table that shadows a protected one: %d, %v", n, err)
	}
	rows, err := ana.Query(t.Context(), "SELECT * FROM patients")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil || len(ids) != 2 {
		t.Errorf("rows of a temporary table that shadows a protected one: %v, %v", ids, err)
	}
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("reading one's own table was charged")
	}
	if err := ana.QueryRow(t.Context(), "SELECT count(*) FROM public.patients").Scan(&n); err != nil || n < 990 {
		t.Errorf("the protected table by its schema: %d, %v", n, err)
	}
	must(t, ana, "DROP TABLE pg_temp.patients")
	if err := ana.QueryRow(t.Context(), "SELECT count(*) FROM patients").Scan(&n); err != nil || n < 990 {
		t.Errorf("the protected table again: %d, %v", n, err)
	}
	testPublicTablesAreHidden(t, w, ana)
}

// The protected database would join with the public table, not with a temporary one that hides it
// in the session.
func testPublicTablesAreHidden(t *testing.T, w *world, ana *pgx.Conn) {
	t.Helper()
	before := w.spent(t, accountant.UnitScope, "patient")
	must(t, ana, "CREATE TEMP TABLE hospitals AS SELECT 1 AS id, 'mine'::text AS name")
	_, err := ana.Exec(t.Context(), "SELECT h.name, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id GROUP BY 1")
	if code(err) != pgerr.NotAllowed.String() {
		t.Errorf("a temporary table that hides a public one is joined with protected rows: %v", err)
	}
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("that was charged")
	}
	must(t, ana, "SELECT h.name, count(*) FROM visits v JOIN public.hospitals h ON h.id = v.hospital_id GROUP BY 1")
	must(t, ana, "DROP TABLE pg_temp.hospitals")
}

// A statement that dpproxy does not recognise meets the backstop: an error, never an answer.
func testBackstop(t *testing.T, w *world) {
	before := w.spent(t, accountant.UnitScope, "patient")
	ana := connect(t, w.url("ana"))
	must(t, ana, `DO $$ BEGIN EXECUTE 'CREATE TEMP VIEW v AS SELECT * FROM patients'; END $$;
		CREATE FUNCTION pg_temp.f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM patients';
		CREATE FUNCTION pg_temp.g() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint;
		BEGIN EXECUTE 'SELECT count(*) FROM pat' || 'ients' INTO n; RETURN n; END $$;
		PREPARE p AS SELECT count(*) FROM v; PREPARE q AS SELECT count(*) FROM patients;
		DO $$ BEGIN EXECUTE 'PREPARE r AS SELECT count(*) FROM patients; PREPARE r2 AS SELECT sex FROM patients'; END $$`)
	for _, sql := range []string{
		"SELECT * FROM v", "SELECT count(*) FROM v", "SELECT pg_temp.f()", "SELECT pg_temp.g()", "EXECUTE p",
		"EXECUTE r2", "DO $$ BEGIN EXECUTE 'EXECUTE q'; END $$", "CREATE TEMP TABLE y AS EXECUTE p",
		"EXPLAIN EXECUTE p", "DO $$ BEGIN PERFORM * FROM patients; END $$",
		"SELECT query_to_xml('select * from patients', true, true, '')",
		"SELECT table_to_xml('patients', true, true, '')", "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM v",
		"CREATE TEMP TABLE x AS SELECT * FROM v", "COPY (SELECT * FROM v) TO STDOUT",
		"SELECT * FROM patients TABLESAMPLE system (1)", "TABLE patients",
		"SELECT U&\"\\0069d\" FROM U&\"p\\0061tients\"", "SELECT (SELECT name FROM patients WHERE id = 1)",
		"EXPLAIN ANALYZE SELECT * FROM patients", "EXPLAIN SELECT * FROM v",
		"MERGE INTO patients USING (SELECT 1) s ON false WHEN NOT MATCHED THEN DO NOTHING",
		"SET row_security = off; SELECT * FROM v", "SET ROLE dpproxy_owner", "SET SESSION AUTHORIZATION postgres",
		"ALTER TABLE patients DISABLE ROW LEVEL SECURITY", "DROP POLICY dp ON patients",
		"CREATE TABLE public.mine (x int)", "DELETE FROM patients", "INSERT INTO patients (id) VALUES (1)",
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
			if strings.Contains(sql, ";") && mode == pgx.QueryExecModeExec {
				continue
			}
			if _, err := ana.Exec(t.Context(), sql, mode); err == nil {
				t.Errorf("%s: accepted", sql)
			}
			must(t, ana, "RESET row_security")
		}
	}
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("a refusal was charged")
	}
}

func TestBudgetRunsOut(t *testing.T) {
	w := newWorld(t,
		limit(t, accountant.UnitScope, "patient", dp.ZCDP, 2000),
		limit(t, accountant.TableScope, "public.visits", dp.PureDP, 2500))
	ana := connect(t, w.url("ana"))
	must(t, ana, "SET dp.epsilon = 1")
	for i := range 4 {
		if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); err != nil {
			t.Fatalf("statement %d: %v", i+1, err)
		}
	}
	_, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients")
	if code(err) != "PB001" {
		t.Errorf("beyond the budget: %v", err)
	}
	// The sub-limit of a table is of pure differential privacy: only Laplace
	// noise has a price there, and it is not asked before the unit's budget.
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM visits"); code(err) != "PB001" {
		t.Errorf("a table with budget left under a spent unit: %v", err)
	}
	if n := w.spent(t, accountant.TableScope, "public.visits"); n != 0 {
		t.Errorf("a refused charge left %d in one of its scopes", n)
	}
}

func TestMixedMeasures(t *testing.T) {
	w := newWorld(t,
		limit(t, accountant.UnitScope, "patient", dp.ZCDP, 9_000_000),
		limit(t, accountant.TableScope, "public.visits", dp.PureDP, 9_000_000),
		limit(t, accountant.AnalystScope, "ana", dp.ZCDP, 9_000_000))
	ana := connect(t, w.url("ana"))
	must(t, ana, "SET dp.epsilon = 1")
	must(t, ana, "SELECT count(*) FROM visits")
	if n := w.spent(t, accountant.TableScope, "public.visits"); n != dp.PicoPerUnit {
		t.Errorf("the pure scope spent %d", n)
	}
	if n := w.spent(t, accountant.UnitScope, "patient"); n <= 0 || n > dp.PicoPerUnit/2 {
		t.Errorf("the zCDP scope spent %d", n)
	}
	if _, err := ana.Exec(t.Context(), "SET dp.mechanism = gaussian; SELECT count(*) FROM visits"); code(err) != "PB016" {
		t.Errorf("gaussian noise in a pure budget: %v", err)
	}
}

// A read that fails after its charge says one fixed thing, whatever the cause,
// and its shape is not admitted again.
func TestFailedReads(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	want := ""
	before := w.spent(t, accountant.UnitScope, "patient")
	for i, c := range []struct{ sql, state string }{
		{"SELECT count(*) FROM labs", "53200"},
		{"SELECT count(*) FROM labs WHERE test = 'chol'", "57014"},
		{"SELECT sum(value) FROM labs", "22012"},
	} {
		sql := c.sql
		w.gate.Fail(c.state)
		_, err := ana.Exec(t.Context(), sql)
		w.gate.Open()
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "PB009" {
			t.Fatalf("%s while reads fail: %v", sql, err)
		}
		if text := pg.Message + pg.Detail + pg.Hint; want == "" {
			want = text
		} else if text != want {
			t.Errorf("another text: %s", text)
		}
		if now := w.spent(t, accountant.UnitScope, "patient"); now <= before {
			t.Errorf("%s was not charged", sql)
		} else {
			before = now
		}
		if i == 0 {
			if _, err := ana.Exec(t.Context(), sql); code(err) != "PB011" {
				t.Errorf("a quarantined shape: %v", err)
			}
		}
	}
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); code(err) != "PB012" {
		t.Errorf("the analyst after three incidents: %v", err)
	}
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("a suspended analyst was charged")
	}
}

// whileItReads asks a statement, and has something done while its read waits at the gate, which is shut.
func (w *world) whileItReads(t *testing.T, conn *pgx.Conn, sql string, do func()) error {
	t.Helper()
	await.That(t, "no read of before waits", func() bool { return w.gate.Waiting() == 0 })
	answered := sitetest.InBackground(t, conn, sql)
	await.That(t, "the read waits, or there is a reply", func() bool { return w.gate.Waiting() == 1 || len(answered) == 1 })
	do()
	return <-answered
}

// An analyst's own timeout is no incident: it is their clock, and it is charged.
func TestOwnTimeout(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1000, 0)}
	w := newWorldWith(t, func(c *proxy.Config) { c.Grid = clock.grid(time.Second) })
	ana := connect(t, w.url("ana"))
	must(t, ana, "SET statement_timeout = '10s'")
	w.gate.Shut()
	for range 4 {
		before := w.spent(t, accountant.UnitScope, "patient")
		err := w.whileItReads(t, ana, "SELECT count(*) FROM visits", func() { clock.pass(12 * time.Second) })
		if code(err) != "57014" {
			t.Errorf("after one's own timeout: %v", err)
		}
		if w.spent(t, accountant.UnitScope, "patient") == before {
			t.Error("a statement that timed out was not charged")
		}
	}
	w.gate.Open()
	must(t, ana, "RESET statement_timeout; SELECT count(*) FROM visits")
}

// The policy's limit is no incident either: what it tells one's own timeout tells, and a slow statement is nobody's fault.
func TestLimitOfRead(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1000, 0)}
	w := newWorldWith(t, func(c *proxy.Config) { c.Defaults.Timeout, c.Grid = 10*time.Second, clock.grid(time.Second) })
	ana := connect(t, w.url("ana"))
	const slow = "SELECT count(*) FROM visits"
	w.gate.Shut()
	for range accountant.MaxIncidents + 1 {
		before := w.spent(t, accountant.UnitScope, "patient")
		err := w.whileItReads(t, ana, slow, func() { clock.pass(12 * time.Second) })
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "57014" {
			t.Fatalf("a read that takes longer than the policy allows: %v", err)
		}
		if want := "canceling statement due to the policy's limit of 10s for reading protected data"; pg.Message != want {
			t.Errorf("it says %q, want %q", pg.Message, want)
		}
		if pg.Detail != "The charge of the statement stays." || !strings.Contains(pg.Hint, "limits.statement_timeout") {
			t.Errorf("detail %q, hint %q", pg.Detail, pg.Hint)
		}
		if w.spent(t, accountant.UnitScope, "patient") == before {
			t.Error("it was not charged")
		}
	}
	if all := w.incidents(t); len(all) > 0 {
		t.Errorf("incidents: %+v", all)
	}
	must(t, ana, "SET statement_timeout = '5s'")
	err := w.whileItReads(t, ana, slow, func() { clock.pass(6 * time.Second) })
	if err == nil || !strings.Contains(err.Error(), "due to statement timeout") {
		t.Errorf("one's own timeout, which is shorter: %v", err)
	}
	w.gate.Open()
	must(t, ana, "SET statement_timeout = 0; "+slow)
}

func lock(t *testing.T, admin *pgx.Conn, table string) {
	t.Helper()
	must(t, admin, "BEGIN; LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE")
}

func unlock(t *testing.T, admin *pgx.Conn) { t.Helper(); must(t, admin, "ROLLBACK") }

// A table whose schema is not the checked one is off, also after it was changed
// back, until the policy is checked again.
func TestSchemaChange(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	admin := connect(t, w.data.URL("postgres", pgtemp.Superuser))
	must(t, ana, "SELECT count(*) FROM patients")
	must(t, admin, "ALTER TABLE patients DROP CONSTRAINT patients_pkey CASCADE")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); code(err) != "PB013" {
		t.Errorf("without the key that proves one row a patient: %v", err)
	}
	before := w.spent(t, accountant.UnitScope, "patient")
	must(t, admin, "ALTER TABLE patients ADD PRIMARY KEY (id)")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); code(err) != "PB013" {
		t.Errorf("after the key came back: %v", err)
	}
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("a table that is off was charged for")
	}
}

// A public table whose key is gone could join each protected row with many of its own.
func TestPublicSchemaChange(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	admin := connect(t, w.data.URL("postgres", pgtemp.Superuser))
	const joined = "SELECT count(*) FROM patients p JOIN hospitals h ON h.id = p.id"
	must(t, ana, joined)
	must(t, admin, "ALTER TABLE hospitals DROP CONSTRAINT hospitals_pkey CASCADE; "+
		"INSERT INTO hospitals SELECT h.* FROM hospitals h, generate_series(1, 100)")
	if _, err := ana.Exec(t.Context(), joined); code(err) != "PB013" {
		t.Errorf("without the key that proves one hospital a patient: %v", err)
	}
	must(t, ana, "SELECT count(*) FROM patients")
}

func TestDatabaseDown(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	must(t, ana, "SELECT count(*) FROM patients")
	before := w.spent(t, accountant.UnitScope, "patient")
	w.data.Crash()
	_, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients")
	if code(err) != "PB017" && code(err) != "PB015" {
		t.Errorf("with the database down: %v", err)
	}
	if code(err) == "PB015" && w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("an unreachable database was charged for")
	}
	must(t, ana, "SELECT 1")
}

func TestLedgerDown(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	w.ledger.Close()
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); code(err) != "PB014" {
		t.Errorf("without a ledger: %v", err)
	}
	must(t, ana, "SELECT 1")
}
