package proxy_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/accountant"
	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
)

// A database whose texts may not be UTF-8 would fail on the rows that hold such
// texts, and on no others.
func TestOtherEncodings(t *testing.T) {
	s := sitetest.StartPostgres(t)
	exec(t, s, "CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
	for database, want := range map[string]string{"postgres": "", "ascii": "encoding SQL_ASCII"} {
		cfg, err := pgxpool.ParseConfig(s.URL(database, pgtemp.Superuser))
		if err != nil {
			t.Fatal(err)
		}
		data, err := reader.Open(t.Context(), cfg, nil, []byte("a secret of thirty-two bytes here"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(data.Close)
		err = data.Ping(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("database %s: %v, want %q", database, err, want)
		}
	}
}

// A pooler that loses a setting between dpproxy and the database is found out
// before anything is read.
func TestSessionSettings(t *testing.T) {
	s := sitetest.StartPostgres(t)
	for name, other := range map[string]string{
		"default_transaction_read_only": "off", "default_transaction_isolation": "read committed", "default_transaction_deferrable": "on",
		"search_path": "public", "client_encoding": "LATIN1", "standard_conforming_strings": "off", "TimeZone": "Asia/Tokyo",
		"DateStyle": "German", "IntervalStyle": "iso_8601", "extra_float_digits": "0", "bytea_output": "escape", "row_security": "on",
		"jit": "on", "parallel_tuple_cost": "1", "enable_mergejoin": "on", "enable_material": "on", "enable_bitmapscan": "on",
		"lock_timeout": "0", "idle_in_transaction_session_timeout": "0",
		"transform_null_equals": "on", "array_nulls": "off", "statement_timeout": "0",
	} {
		lost := &tap{edit: func(p map[string]string) {
			if _, ok := p[name]; !ok {
				t.Errorf("%s is not set", name)
			}
			p[name] = other
		}}
		if err := pingData(t, s, lost); err == nil || !strings.Contains(err.Error(), "set "+name+" to") {
			t.Errorf("%s is %s: %v", name, other, err)
		}
	}
	if err := pingData(t, s, &tap{}); err != nil {
		t.Error(err)
	}
}

func pingData(t *testing.T, s *pgtemp.Server, p *tap) error {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(s.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = "30000"
	p.put(cfg)
	data, err := reader.Open(t.Context(), cfg, nil, []byte("a secret of thirty-two bytes here"))
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	return data.Ping(t.Context())
}

// A statement costs two round trips on the protected database: one that finds the session
// alive and plans all its reads, before the charge, and one that executes them.
func TestRoundTrips(t *testing.T) {
	p := &tap{}
	w := newWorldOver(t, func(c *pgxpool.Config) { p.put(c); c.MaxConns = 1 }, func(*proxy.Config) {})
	ana := connect(t, w.url("ana"))
	const two = "SELECT (SELECT count(*) FROM patients), (SELECT avg(birth_year) FROM patients)"
	exec := func() {
		if _, err := ana.Exec(t.Context(), two); err != nil {
			t.Fatal(err)
		}
	}
	exec() // opens the session
	before := p.writes()
	exec()
	if n := p.writes() - before; n != 2 {
		t.Errorf("%d round trips, want 2", n)
	}
}

// A read has some of its role's work_mem, at random, before it is planned: nobody knows at how many rows it
// goes to disk.
func TestSomeMemory(t *testing.T) {
	p := &tap{}
	w := newWorldOver(t, p.put, func(*proxy.Config) {})
	before := len(p.statements())
	if _, err := connect(t, w.url("ana")).Exec(t.Context(), "SELECT count(*) FROM patients"); err != nil {
		t.Fatal(err)
	}
	all := p.statements()[before:]
	set := slices.IndexFunc(all, func(m string) bool { return strings.Contains(m, "'work_mem'") })
	read := slices.IndexFunc(all, func(m string) bool { return strings.Contains(m, "count(*)") && strings.Contains(m, `"patients"`) })
	if set < 0 || read < set {
		t.Fatalf("statement %d sets the memory of statement %d", set, read)
	}
	sql := all[set][strings.Index(all[set], "SELECT") : strings.LastIndex(all[set], ")")+1] // of a message
	conn := connect(t, w.data.URL("postgres", pgtemp.Superuser))
	if _, err := conn.Prepare(t.Context(), "memory", sql); err != nil { // as a session has it
		t.Fatal(err)
	}
	for memory, kB := range map[string]int64{"64kB": 64, "4MB": 4 << 10, "1GB": 1 << 20} {
		sitetest.Exec(t, conn, "SET work_mem = '"+memory+"'")
		seen := map[int64]bool{}
		for range 40 {
			sitetest.Exec(t, conn, "BEGIN READ ONLY")
			if _, err := conn.Exec(t.Context(), "memory"); err != nil {
				t.Fatal(err)
			}
			got := workMemory(t, conn)
			if got > kB || got < max(64, kB*3/4) {
				t.Errorf("%d kB of %s", got, memory)
			}
			seen[got] = true
			sitetest.Exec(t, conn, "COMMIT")
		}
		if got := workMemory(t, conn); got != kB || kB > 64 && len(seen) < 20 {
			t.Errorf("of %s %d sizes were seen, and %d kB are left", memory, len(seen), got)
		}
	}
}

// workMemory returns that of a session, in kB.
func workMemory(t *testing.T, conn *pgx.Conn) (kB int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT pg_size_bytes(current_setting('work_mem')) / 1024").Scan(&kB); err != nil {
		t.Fatal(err)
	}
	return kB
}

// Nothing that an analyst writes is text of a statement on the protected database:
// neither constants, which travel as parameters, nor names, nor comments.
func TestNoClientText(t *testing.T) {
	p := &tap{}
	w := newWorldOver(t, p.put, func(*proxy.Config) {})
	ana := connect(t, w.url("ana"))
	before := len(p.statements())
	for _, sql := range []string{
		"SELECT count(*) AS zebra FROM patients /* zebra */ WHERE sex = 'zebra' -- zebra",
		`SELECT "Zebra".sex, count(*) "zebra" FROM patients AS "Zebra" WHERE "Zebra".birth_year > 19771 GROUP BY "Zebra".sex`,
		"WITH zebra AS (SELECT id AS zebra, sex FROM patients WHERE sex LIKE 'zebra%') SELECT count(*) FROM zebra",
		"SET application_name = 'zebra'; SELECT sum(least(greatest(zebra.birth_year, 19771), 19772)) FROM patients zebra " +
			"WHERE sex IN ('zebra', 'f')",
		"DECLARE zebra CURSOR WITH HOLD FOR SELECT count(*) FROM visits WHERE day > date '1977-11-30'",
		"PREPARE zebra AS SELECT count(*) FROM patients WHERE birth_year = $1; EXECUTE zebra (19771)",
	} {
		if _, err := ana.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	all := p.statements()[before:]
	reads := 0
	for _, text := range all {
		if strings.Contains(text, `"patients"`) || strings.Contains(text, `"visits"`) {
			reads++
		}
		for _, theirs := range []string{"zebra", "1977"} {
			if strings.Contains(strings.ToLower(text), theirs) {
				t.Errorf("%q is in %s", theirs, text)
			}
		}
	}
	if reads < 6 {
		t.Errorf("%d of %d statements read: the tap misses them", reads, len(all))
	}
}

// A cancel request that reaches the protected database late, when its statement has ended,
// does not hit the next one.
func TestLateCancel(t *testing.T) {
	p := &tap{}
	w := newWorldOver(t, func(c *pgxpool.Config) { p.put(c); c.MaxConns = 1 }, func(*proxy.Config) {})
	const sql = "SELECT count(*) FROM patients"
	ask := func() (*pgx.Conn, chan error) {
		conn, answered := connect(t, w.url("ana")), make(chan error, 1)
		go func() {
			_, err := conn.Exec(t.Context(), sql)
			answered <- err
		}()
		return conn, answered
	}
	w.gate.Shut()
	first, answered := ask()
	await.That(t, "the first read waits", func() bool { return w.gate.Waiting() == 1 })
	p.holdCancels()
	if err := first.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.That(t, "its cancel request is under way", func() bool { return p.canceling() == 1 })
	if err := <-answered; code(err) != "57014" {
		t.Fatalf("a statement that was canceled: %v", err)
	}
	before := w.spent(t, accountant.UnitScope, "patient")
	_, answered = ask()
	await.That(t, "the second read waits",
		func() bool { return w.spent(t, accountant.UnitScope, "patient") > before && w.gate.Waiting() > 0 })
	if n := p.deliver(); n != 1 {
		t.Fatalf("%d cancel requests", n)
	}
	w.gate.Open()
	if err := <-answered; err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

// A cancel request that reaches the mirror while the mirror describes the rewritten
// statement cancels, costs nothing, and is no fault of dpproxy.
func TestCancelWhileDescribing(t *testing.T) {
	w := newWorld(t)
	url := w.mirror.URL("postgres", pgtemp.Superuser)
	blocker, admin := connect(t, url), connect(t, url)
	var once sync.Once
	w.tap = &tap{before: func(sql string) {
		if strings.Contains(sql, "unnest") { // which the session looks up for the first time
			once.Do(func() { must(t, blocker, "BEGIN; LOCK TABLE pg_catalog.pg_proc IN ACCESS EXCLUSIVE MODE") })
		}
	}}
	canceled := func() (yes bool) {
		const sql = "SELECT coalesce(bool_or(pg_cancel_backend(pid)), false) FROM pg_stat_activity WHERE usename = 'ana' " +
			"AND wait_event_type = 'Lock'"
		if err := admin.QueryRow(t.Context(), sql).Scan(&yes); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if canceled() { // which looks up all it needs
		t.Fatal("the session waits already")
	}
	ana, answered := connect(t, w.url("ana")), make(chan error, 1)
	const sql = "SELECT count(*) FROM patients"
	go func() {
		_, err := ana.Exec(t.Context(), sql)
		answered <- err
	}()
	await.That(t, "the mirror is told to cancel", canceled)
	if err := <-answered; code(err) != "57014" {
		t.Errorf("the statement: %v", err)
	}
	if spent := w.spent(t, accountant.UnitScope, "patient"); spent != 0 {
		t.Errorf("it cost %d", spent)
	}
	must(t, blocker, "ROLLBACK")
	must(t, ana, sql)
}

// A statement that does not fit the queue is refused at no cost, and says so.
func TestQueueIsFull(t *testing.T) {
	w := newWorldOver(t, func(c *pgxpool.Config) { c.MaxConns = 1 }, func(c *proxy.Config) { c.Sharing.Waiting = 1 })
	const sql = "SELECT count(*) FROM patients"
	w.gate.Shut()
	answers := make(chan error, 3)
	for range 3 {
		conn := connect(t, w.url("ana"))
		go func() {
			_, err := conn.Exec(t.Context(), sql)
			answers <- err
		}()
	}
	var pg *pgconn.PgError
	if err := <-answers; !errors.As(err, &pg) || pg.Code != "53300" || !strings.Contains(pg.Hint, "Nothing was charged") {
		t.Errorf("the third of three: %v", err)
	}
	w.gate.Open()
	for range 2 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	before := w.spent(t, accountant.UnitScope, "patient")
	if _, err := connect(t, w.url("ana")).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	if one := w.spent(t, accountant.UnitScope, "patient") - before; before != 2*one {
		t.Errorf("three statements, of which one was refused, cost %d, one costs %d", before, one)
	}
}
