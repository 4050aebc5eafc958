package authquery_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/authquery"
	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
)

func start(t *testing.T) *pgtemp.Server {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func connect(t *testing.T, s *pgtemp.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func open(t *testing.T, s *pgtemp.Server, sql string) *authquery.Query {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(s.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	q, err := authquery.Open(t.Context(), cfg, sql)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

const shadow = "SELECT passwd, valuntil FROM pg_catalog.pg_shadow WHERE usename = $1"

// TestVerifier asks for roles whose passwords are as good and as bad as Postgres allows.
func TestVerifier(t *testing.T) {
	s := start(t)
	admin := connect(t, s)
	run(t, admin, `CREATE ROLE ana LOGIN PASSWORD 'x'; CREATE ROLE "Große, die" LOGIN PASSWORD 'x';
		CREATE ROLE later LOGIN PASSWORD 'x' VALID UNTIL '2999-01-01'; CREATE ROLE always LOGIN PASSWORD 'x' VALID UNTIL 'infinity';
		CREATE ROLE gone LOGIN PASSWORD 'x' VALID UNTIL '2000-01-01'; CREATE ROLE never LOGIN PASSWORD 'x' VALID UNTIL '-infinity';
		CREATE ROLE without LOGIN; CREATE ROLE nologin PASSWORD 'x'`)
	q := open(t, s, shadow)
	if err := q.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func(role, wantReason string) {
		t.Helper()
		var want string
		if wantReason == "" {
			if err := admin.QueryRow(t.Context(), "SELECT rolpassword FROM pg_authid WHERE rolname = $1", role).Scan(&want); err != nil {
				t.Fatal(err)
			}
		}
		got, reason, err := q.Verifier(t.Context(), role)
		if got != want || reason != wantReason || err != nil {
			t.Errorf("%s has %q (%s), %v, want %q (%s)", role, got, reason, err, want, wantReason)
		}
	}
	for role, reason := range map[string]string{
		"ana": "", "Große, die": "", "later": "", "always": "",
		"gone": "the password has expired", "never": "the password has expired", "without": "the query returns no password",
		"nologin": "the query returns 0 rows", "nobody": "the query returns 0 rows",
		"' OR true --": "the query returns 0 rows", "": "the query returns 0 rows",
	} {
		ask(role, reason)
	}
	run(t, admin, "ALTER ROLE ana PASSWORD 'another'")
	ask("ana", "")
	run(t, admin, "ALTER ROLE ana VALID UNTIL '2001-01-01'")
	ask("ana", "the password has expired")
	run(t, admin, "DROP ROLE ana")
	ask("ana", "the query returns 0 rows")
}

// TestRefusals asks queries that fail for some roles: they say so, and go on.
func TestRefusals(t *testing.T) {
	s := start(t)
	admin := connect(t, s)
	run(t, admin, `CREATE TABLE logins (name text, verifier text);
		INSERT INTO logins VALUES ('ana', 'a'), ('twice', 'b'), ('twice', 'b'), ('empty', '');
		CREATE FUNCTION public.strict(name text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
			IF name = 'bob' THEN RAISE 'there is no bob'; END IF;
			IF name = 'eve' THEN DELETE FROM public.logins; END IF;
			IF name = 'sick' THEN RAISE 'the verifier is SCRAM-SHA-256$4096' USING ERRCODE = '58000'; END IF;
			RETURN name; END $$`)
	q := open(t, s, "SELECT verifier FROM public.logins WHERE name = public.strict($1)")
	for range 2 {
		for role, want := range map[string]string{
			"ana": "", "bob": "Postgres refused the query with SQLSTATE P0001", "eve": "Postgres refused the query with SQLSTATE 25006",
			"twice": "the query returns 2 rows", "empty": "the query returns no password",
		} {
			v, reason, err := q.Verifier(t.Context(), role)
			if reason != want || err != nil || (v == "a") != (want == "") {
				t.Errorf("%s has %q (%s), %v, want %s", role, v, reason, err, want)
			}
		}
	}
	_, _, err := q.Verifier(t.Context(), "sick")
	if err == nil || strings.Contains(err.Error(), "SCRAM") || !strings.Contains(err.Error(), "58000") {
		t.Errorf("a function that says what it has read: %v", err)
	}
	run(t, admin, "ALTER TABLE logins ALTER verifier TYPE varchar")
	_, _, _ = q.Verifier(t.Context(), "ana") // the prepared statement may not fit any more
	if v, reason, err := q.Verifier(t.Context(), "ana"); v != "a" || err != nil {
		t.Errorf("after a change of the table: %q (%s), %v", v, reason, err)
	}
}

// TestMisfit changes the database so that it does not take the query any more: that is not
// the fault of who asks.
func TestMisfit(t *testing.T) {
	s := start(t)
	admin := connect(t, s)
	create := `CREATE OR REPLACE FUNCTION public.verifier(name) RETURNS text LANGUAGE sql AS 'SELECT ''a''::text'`
	run(t, admin, "CREATE ROLE low LOGIN; "+create)
	cfg, err := pgxpool.ParseConfig(s.URL("postgres", "low"))
	if err != nil {
		t.Fatal(err)
	}
	q, err := authquery.Open(t.Context(), cfg, "SELECT public.verifier($1)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	for change, back := range map[string]string{
		"DROP FUNCTION public.verifier":                          create,
		"REVOKE EXECUTE ON FUNCTION public.verifier FROM PUBLIC": "GRANT EXECUTE ON FUNCTION public.verifier TO PUBLIC",
		"REVOKE USAGE ON SCHEMA public FROM PUBLIC":              "GRANT USAGE ON SCHEMA public TO PUBLIC",
		"ALTER SCHEMA public RENAME TO gone":                     "ALTER SCHEMA gone RENAME TO public",
	} {
		if v, _, err := q.Verifier(t.Context(), "ana"); v != "a" || err != nil {
			t.Fatalf("before %s: %q, %v", change, v, err)
		}
		run(t, admin, change)
		for range 2 { // on the connection from before, and on a new one
			v, reason, err := q.Verifier(t.Context(), "ana")
			if _, ok := errors.AsType[*authquery.FormError](err); !ok || v != "" || reason != "" {
				t.Errorf("after %s: %q (%s), %v", change, v, reason, err)
			}
		}
		run(t, admin, back)
	}
}

// TestApart fills all connections of log-ins: whoever administers is answered all the same.
func TestApart(t *testing.T) {
	s := start(t)
	admin := connect(t, s)
	run(t, admin, `CREATE FUNCTION public.verifier(name) RETURNS text LANGUAGE sql VOLATILE
		AS 'SELECT CASE WHEN $1 = ''slow'' THEN pg_sleep(60)::text ELSE ''a'' END'`)
	q := open(t, s, "SELECT public.verifier($1)")
	var all sync.WaitGroup
	defer all.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 20 {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _, _ = q.Verifier(ctx, "slow")
			}
		})
	}
	await.That(t, "log-ins take four connections", func() bool {
		var n int
		if err := admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'dpproxy' AND wait_event = 'PgSleep'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n >= 4
	})
	if err := q.Check(t.Context()); err != nil {
		t.Errorf("the check beside log-ins: %v", err)
	}
	if v, reason, err := q.VerifierApart(t.Context(), "ana"); v != "a" || err != nil {
		t.Errorf("an administrator's question beside log-ins: %q (%s), %v", v, reason, err)
	}
}

// TestSession holds the rights of a session, and its time limits.
func TestSession(t *testing.T) {
	s := start(t)
	for setting, want := range map[string]string{
		"search_path": "pg_catalog", "default_transaction_read_only": "on", "statement_timeout": "3s", "client_encoding": "UTF8",
	} {
		v, _, err := open(t, s, "SELECT current_setting($1)").Verifier(t.Context(), setting)
		if v != want || err != nil {
			t.Errorf("%s is %s, %v, want %s", setting, v, err, want)
		}
	}
	if authquery.Deadline != 3*time.Second {
		t.Error("the documentation says three seconds")
	}
}

// TestForm refuses queries that cannot return a verifier.
func TestForm(t *testing.T) {
	s := start(t)
	for sql, want := range map[string]string{
		"SELECT 'x' WHERE $1::text = ''":                     "",
		"SELECT 'x'::varchar(9), now() WHERE $1 = 'a'::name": "",
		"SELEC $1": "42601",
		"SELECT passwd FROM pg_shadows WHERE usename = $1": "42P01",
		"SELECT 'x'":                                                    "one parameter",
		"SELECT 'x' WHERE $1 = 1":                                       "one parameter",
		"SELECT 'x' WHERE $1 = $2::text":                                "one parameter",
		"SELECT FROM pg_shadow WHERE usename = $1":                      "first column",
		"SELECT 1 WHERE $1 = 'a'":                                       "first column",
		"SELECT 'x', date '2000-01-01' WHERE $1 = 'a'":                  "second column",
		"SELECT 'x', now(), 1 WHERE $1 = 'a'":                           "one column or two",
		"SELECT usename, passwd FROM pg_shadow WHERE usename = $1":      "second column",
		"SELECT passwd FROM nothing.pg_shadow WHERE usename = $1::name": "42P01",
	} {
		q := open(t, s, sql)
		err := q.Check(t.Context())
		form, ok := errors.AsType[*authquery.FormError](err)
		if want == "" && err != nil || want != "" && (!ok || !strings.Contains(form.Reason, want)) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
		if _, _, err := q.Verifier(t.Context(), "ana"); (err != nil) != (want != "") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestUnavailable asks a database that does not answer, one that ends sessions, and none.
func TestUnavailable(t *testing.T) {
	s := start(t)
	admin := connect(t, s)
	run(t, admin, "CREATE TABLE logins AS SELECT 'ana'::text AS name, 'a'::text AS verifier")
	q := open(t, s, "SELECT verifier FROM public.logins WHERE name = $1")
	works := func() {
		t.Helper()
		if v, reason, err := q.Verifier(t.Context(), "ana"); v != "a" || err != nil {
			t.Errorf("%q (%s), %v", v, reason, err)
		}
	}
	works()
	run(t, admin, "BEGIN; LOCK TABLE logins")
	for _, role := range []string{"ana", "nobody"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if v, reason, err := q.Verifier(ctx, role); err == nil {
			t.Errorf("%s of a locked table: %q (%s)", role, v, reason)
		}
		cancel()
	}
	run(t, admin, "ROLLBACK; SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'dpproxy'")
	works() // on a new session
	s.Stop()
	for _, role := range []string{"ana", "nobody"} {
		if v, reason, err := q.Verifier(t.Context(), role); err == nil {
			t.Errorf("%s of a server that is down: %q (%s)", role, v, reason)
		}
	}
	if err := q.Check(t.Context()); err == nil {
		t.Error("a server that is down is well")
	} else if _, ok := errors.AsType[*authquery.FormError](err); ok {
		t.Errorf("a server that is down is the query's fault: %v", err)
	}
}
