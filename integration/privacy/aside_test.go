package privacy_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/mirror"
)

// asideAttacks are texts that a session in which something concealed is computed might run.
var asideAttacks = map[string]string{
	"SET SESSION AUTHORIZATION " + pgtemp.Superuser: "42501",
	"SET SESSION AUTHORIZATION bob":                 "42501",
	"SET ROLE " + pgtemp.Superuser:                  "42501",
	"SET ROLE bob":                                  "42501",
	"SET ROLE dpproxy_owner":                        "42501",
	"SET ROLE dpproxy_aside_bob":                    "42501",
	"SELECT set_config('session_authorization', '" + pgtemp.Superuser + "', true)": "42501",
	"SELECT set_config('role', 'bob', true)":                                       "42501",
	"ALTER ROLE dpproxy_aside_ana SUPERUSER":                                       "25006 42501",
	"GRANT bob TO dpproxy_aside_ana":                                               "25006 42501 42704",
	"SELECT pg_read_file('postgresql.conf')":                                       "42501",
	"SELECT pg_ls_dir('.')":                                                        "42501",
	"SELECT lo_import('/etc/passwd')":                                              "42501",
	"COPY (SELECT 1) TO PROGRAM 'true'":                                            "42501",
	"COPY (SELECT 1) TO '/tmp/x'":                                                  "42501",
	"CREATE TABLE public.x (a int)":                                                "25006 42501",
	"CREATE TEMP TABLE x (a int)":                                                  "25006 42501",
	"SELECT lo_create(0)":                                                          "42501 25006",
	"DELETE FROM public.lists":                                                     "25006 42501",
	"SELECT * FROM public.visits":                                                  "PB010 42501",
	"SELECT * FROM public.labs":                                                    "PB010 42501",
	"SELECT lo_get(oid) FROM pg_largeobject_metadata":                              "42501",
	"SELECT rolpassword FROM pg_authid":                                            "42501",
	"DO $$ BEGIN EXECUTE 'SET ROLE none'; EXECUTE 'SET ROLE bob'; END $$":          "42501",
}

// TestAsideIsHarmless holds that text of an analyst that came into a session in which something
// concealed is computed could take no other rights than the analyst's: a superuser's,
// another analyst's, to write, to read files.
func TestAsideIsHarmless(t *testing.T) {
	const mine = `CREATE VIEW mine AS SELECT count(*) > 0 AS n,
		current_user::text || ' ' || has_table_privilege('public.patients', 'SELECT')::text ||
		' ' || has_table_privilege('public.labs', 'SELECT')::text AS who FROM patients;`
	policy := strings.NewReplacer("  old: {view: true}", "  mine: {view: true}\n  old: {view: true}",
		"[patients, old,", "[patients, mine, old,").
		Replace(concealedPolicy)
	s := sitetest.New(t, concealedSchema+mine,
		strings.Replace(policy, ", visits, labs]}", "]}\n  bob: {password: \"VERIFIER\", tables: [labs]}", 1))
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SELECT cohort, count(*) FROM old GROUP BY cohort")
	if got := sitetest.Rows(t, ana, "SELECT who FROM mine"); strings.TrimSpace(got) != "ana true false" {
		t.Errorf("the view is computed as %q", got)
	}
	conn := sitetest.Dial(t, s.Mirror.URL("postgres", mirror.AsideRole("ana")))
	for _, undone := range []string{"", "; RESET ROLE", "; SET ROLE none; SET ROLE ana"} {
		begin := "BEGIN READ ONLY; SELECT; SET LOCAL ROLE ana" + undone
		for sql, want := range asideAttacks {
			sitetest.Exec(t, conn, begin)
			_, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
			if code := sitetest.SQLState(err); err == nil || !strings.Contains(want, code) {
				t.Errorf("%s; %s: %v, not %s", begin, sql, err, want)
			}
			sitetest.Exec(t, conn, "ROLLBACK")
		}
		sitetest.Exec(t, conn, begin)
		for _, asked := range []string{
			"SELECT count(*)::text FROM pg_stat_activity WHERE usename NOT IN ('ana', 'dpproxy_aside_ana')" +
				" AND query NOT IN ('', '<insufficient privilege>')",
			"SELECT count(*)::text FROM pg_roles WHERE rolsuper AND pg_has_role(oid, 'MEMBER')" +
				" OR rolname IN ('bob', 'dpproxy_owner') AND pg_has_role(oid, 'MEMBER')",
		} {
			if got := strings.TrimSpace(sitetest.Rows(t, conn, asked)); got != "0" {
				t.Errorf("%s; %s: %s", begin, asked, got)
			}
		}
		sitetest.Exec(t, conn, "ROLLBACK")
	}
	// Nor can the analyst look into such sessions, or end them.
	got := sitetest.Rows(t, ana, "SELECT query FROM pg_stat_activity WHERE usename = 'dpproxy_aside_ana'")
	if !strings.Contains(got, "insufficient privilege") {
		t.Errorf("the analyst sees %q", got)
	}
	for _, sql := range []string{
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'dpproxy_aside_ana'", "SET ROLE dpproxy_aside_ana",
	} {
		if _, err := ana.Exec(t.Context(), sql); sitetest.SQLState(err) != "42501" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
