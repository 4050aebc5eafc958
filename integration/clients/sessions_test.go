package clients_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
	"dpproxy/pgerr"
)

// TestOwnSessions holds that analysts see and end their own sessions as in Postgres,
// and nobody else's.
func TestOwnSessions(t *testing.T) {
	s := newSite(t, sitetest.Options{
		Database: "clinic", Schema: clinicSchema, Policy: clinicPolicy + "  bob: {password: \"VERIFIER\"}\n",
	}, "")
	mine, other := sitetest.Dial(t, s.URL("ana")), sitetest.Dial(t, s.URL("ana"))
	bob := sitetest.Dial(t, s.URL("bob"))
	pid := scalar[int](t, mine, "SELECT pg_backend_pid()")

	failed := make(chan error, 1)
	go func() {
		_, err := mine.Exec(t.Context(), "SELECT pg_sleep(60)")
		failed <- err
	}()
	const asleep = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND query = 'SELECT pg_sleep(60)' AND state = 'active'"
	for scalar[int](t, other, asleep, pid) == 0 {
		// The other session has not begun yet.
	}
	if n := scalar[int](t, bob, asleep, pid); n != 0 {
		t.Error("an analyst sees the statement of another")
	}
	for _, function := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		if _, err := bob.Exec(t.Context(), "SELECT "+function+"($1)", pid); sitetest.SQLState(err) != pgerr.InsufficientPrivilege.String() {
			t.Errorf("%s of another analyst's session: %v", function, err)
		}
	}
	if !scalar[bool](t, other, "SELECT pg_cancel_backend($1)", pid) {
		t.Error("pg_cancel_backend is false")
	}
	if err := <-failed; sitetest.SQLState(err) != pgerr.QueryCanceled.String() {
		t.Errorf("the cancelled statement: %v", err)
	}
	if !scalar[bool](t, other, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1", pid) {
		t.Error("pg_terminate_backend is false")
	}
	if _, err := mine.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a session that was ended goes on")
	}
}

// TestPrivileges holds that rights in the catalogue are as dpproxy grants them.
func TestPrivileges(t *testing.T) {
	s := newSite(t, sitetest.Options{
		Database: "clinic", Schema: clinicSchema,
		Policy: clinicPolicy + "  bob: {password: \"VERIFIER\", tables: [patients]}\n",
	}, "")
	ana, bob := sitetest.Dial(t, s.URL("ana")), sitetest.Dial(t, s.URL("bob"))
	cases := []struct {
		sql      string
		ana, bob string
	}{
		{"current_user || ' ' || session_user || ' ' || current_database()", "ana ana clinic", "bob bob clinic"},
		{"has_table_privilege('visits', 'SELECT')", "true", "false"},
		{"has_table_privilege('patients', 'SELECT')", "true", "true"},
		{"has_table_privilege('hospitals', 'SELECT')", "true", "true"},
		{"has_any_column_privilege('visits', 'SELECT')", "true", "false"},
		{"has_column_privilege('visits', 'cost', 'SELECT')", "true", "false"},
		{"has_table_privilege('patients', 'INSERT, UPDATE, DELETE, TRUNCATE')", "false", "false"},
		{"has_schema_privilege('public', 'USAGE')", "true", "true"},
		{"has_schema_privilege('public', 'CREATE')", "false", "false"},
		{"has_database_privilege(current_database(), 'CREATE')", "false", "false"},
		{"has_database_privilege(current_database(), 'TEMPORARY')", "true", "true"},
		{"has_function_privilege('lo_create(oid)', 'EXECUTE')", "false", "false"},
		{"pg_has_role('dpproxy_owner', 'MEMBER')", "false", "false"},
		{
			"(SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'public')",
			"hospitals labs patients visits", "hospitals patients",
		},
		{
			"(SELECT string_agg(table_name || ' ' || privilege_type, ', ' ORDER BY table_name) " +
				"FROM information_schema.role_table_grants WHERE table_schema = 'public')",
			"hospitals SELECT, labs SELECT, patients SELECT, visits SELECT", "hospitals SELECT, patients SELECT",
		},
		{"(SELECT count(*) FROM information_schema.columns WHERE table_name = 'visits')", "8", "0"},
	}
	for _, c := range cases {
		for conn, want := range map[*pgx.Conn]string{ana: c.ana, bob: c.bob} {
			if got := scalar[string](t, conn, "SELECT ("+c.sql+")::text"); got != want {
				t.Errorf("%s is %q, want %q", c.sql, got, want)
			}
		}
	}
	if _, err := bob.Exec(t.Context(), "SELECT count(*) FROM visits"); sitetest.SQLState(err) != pgerr.InsufficientPrivilege.String() {
		t.Errorf("an aggregate over a table without a right: %v", err)
	}
}

// scalar is the one value of a query.
func scalar[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}
