package mirror_test

import (
	"strings"
	"testing"

	"dpproxy/mirror"
)

// TestHoles makes each known hole in the backstop by hand, shows that an analyst
// reads an empty table through it, and that the self-test sees it. Then the remedy.
func TestHoles(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	ana := p.as(t, "ana")
	for _, hole := range []struct{ name, open, want, remedy string }{
		{
			"a view of the owner without FORCE",
			`ALTER TABLE visits NO FORCE ROW LEVEL SECURITY; CREATE VIEW hole AS SELECT * FROM visits;
				ALTER VIEW hole OWNER TO dpproxy_owner; GRANT SELECT ON hole TO ana`,
			"shows rows of public.visits, which the policy protects",
			"ALTER TABLE visits FORCE ROW LEVEL SECURITY",
		},
		{
			"a view of a superuser",
			"CREATE VIEW hole AS SELECT * FROM visits; GRANT SELECT ON hole TO ana",
			"not made by dpproxy, but reads a protected relation: public.hole",
			"ALTER VIEW hole OWNER TO dpproxy_owner",
		},
		{
			"a view of a superuser over a view",
			`CREATE VIEW inner_view AS SELECT * FROM visits; ALTER VIEW inner_view OWNER TO dpproxy_owner;
				ALTER TABLE visits NO FORCE ROW LEVEL SECURITY; GRANT SELECT ON inner_view TO ana;
				CREATE VIEW hole AS SELECT * FROM inner_view; GRANT SELECT ON hole TO ana`,
			"not made by dpproxy, but reads a protected relation: public.hole",
			"DROP VIEW hole; ALTER VIEW inner_view RENAME TO hole; ALTER TABLE visits FORCE ROW LEVEL SECURITY",
		},
		{
			"a child read directly",
			"CREATE TABLE hole () INHERITS (visits); ALTER TABLE hole OWNER TO dpproxy_owner; GRANT SELECT ON hole TO ana",
			"shows rows of public.hole, which the policy does not list",
			`ALTER TABLE hole ENABLE ROW LEVEL SECURITY; ALTER TABLE hole FORCE ROW LEVEL SECURITY;
				CREATE POLICY dp ON hole FOR SELECT USING (dp.protected('hole'))`,
		},
		{
			"a child whose policy answers",
			`CREATE TABLE hole () INHERITS (visits); ALTER TABLE hole OWNER TO dpproxy_owner; GRANT SELECT ON hole TO ana;
				ALTER TABLE hole ENABLE ROW LEVEL SECURITY; ALTER TABLE hole FORCE ROW LEVEL SECURITY`,
			`analyst ana: SELECT * FROM "public"."hole" ended with "success"`,
			"CREATE POLICY dp ON hole FOR SELECT USING (dp.protected('hole'))",
		},
		{
			"a materialised view",
			`CREATE MATERIALIZED VIEW hole AS SELECT * FROM visits WITH NO DATA; REFRESH MATERIALIZED VIEW hole;
				ALTER MATERIALIZED VIEW hole OWNER TO dpproxy_owner; GRANT SELECT ON hole TO ana`,
			"shows rows of public.hole, which the policy does not list",
			"DROP MATERIALIZED VIEW hole; CREATE VIEW hole AS SELECT * FROM visits; ALTER VIEW hole OWNER TO dpproxy_owner; " +
				"GRANT SELECT ON hole TO ana",
		},
	} {
		t.Run(hole.name, func(t *testing.T) {
			run(t, p.mirror, hole.open)
			if got := state(t, ana, "SELECT * FROM hole"); got != "" {
				t.Errorf("this is no hole: %q", got)
			}
			if err := p.verify(t); err == nil || !strings.Contains(err.Error(), hole.want) {
				t.Errorf("the self-test says %v", err)
			}
			run(t, p.mirror, hole.remedy)
			if got := state(t, ana, "SELECT * FROM hole"); got != "PB010" {
				t.Errorf("after the remedy: %q", got)
			}
			if err := p.verify(t); err != nil {
				t.Errorf("after the remedy: %v", err)
			}
			run(t, p.mirror, "DO $$ BEGIN DROP VIEW hole CASCADE; EXCEPTION WHEN wrong_object_type THEN DROP TABLE hole CASCADE; END $$")
		})
	}
}

func TestVerifyChecksRoles(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	for open, want := range map[string]string{
		"ALTER ROLE dpproxy_owner BYPASSRLS":                                          "the owner of the mirror has powers",
		"GRANT dpproxy_owner TO ana":                                                  "is a member of the owner",
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'": "SECURITY DEFINER function",
		"ALTER ROLE ana BYPASSRLS":                                                    "analyst ana: SELECT",
		"CREATE OR REPLACE FUNCTION dp.protected(text) RETURNS bool STABLE LANGUAGE sql AS 'SELECT false'": `ended with "success"`,
	} {
		run(t, p.mirror, "BEGIN; "+open)
		if err := p.verify(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", open, err)
		}
		run(t, p.mirror, "ROLLBACK")
	}
}

// verify runs the self-test and leaves the connection's transaction state as it was.
func (p pair) verify(t *testing.T) error {
	t.Helper()
	inside := p.mirror.PgConn().TxStatus() == 'T'
	tx, err := p.mirror.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, p.mirror, "SET LOCAL search_path = ''")
	err = mirror.Verify(t.Context(), tx, plan(), p.confirmed(t).Schema, mirror.Origins{})
	if p.mirror.PgConn().TxStatus() == 'E' {
		t.Fatalf("the self-test broke its transaction: %v", err)
	}
	if !inside {
		run(t, p.mirror, "ROLLBACK")
	}
	return err
}

// confirmed is the record of the last sync.
func (p pair) confirmed(t *testing.T) *mirror.Confirmation {
	t.Helper()
	c, err := mirror.Confirmed(t.Context(), p.mirror)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	return c
}

func TestSameServerHidesStatistics(t *testing.T) {
	statements := []string{
		"SELECT * FROM pg_stat_database", "SELECT * FROM pg_stat_activity", "SELECT pg_database_size('clinic')", "SELECT * FROM pg_locks",
		"SELECT pg_tablespace_size('pg_default')", "SELECT pg_current_wal_lsn()", "SELECT * FROM pg_stat_bgwriter",
		"SELECT * FROM pg_stat_wal",
		"SELECT txid_current()", "SELECT * FROM pg_control_checkpoint()", "SELECT pg_stat_get_db_tuples_inserted(1)",
		"SELECT * FROM pg_stat_slru",
	}
	same, apart := oneServer(t), twoServers(t)
	same.sync(t, plan())
	apart.sync(t, plan())
	ana, other := same.as(t, "ana"), apart.as(t, "ana")
	for _, sql := range statements {
		if got := state(t, ana, sql); got != "42501" {
			t.Errorf("one server: %s ended with %q", sql, got)
		}
		if got := state(t, other, strings.ReplaceAll(sql, "clinic", "postgres")); got != "" {
			t.Errorf("two servers: %s ended with %q", sql, got)
		}
	}
	run(t, same.mirror, "CREATE EXTENSION IF NOT EXISTS pg_buffercache")
	if _, err := same.trySync(t, plan()); err == nil || !strings.Contains(err.Error(), "drop extension pg_buffercache") {
		t.Errorf("pg_buffercache on one server: %v", err)
	}
}

func TestVerifies(t *testing.T) {
	v, err := mirror.NewVerifier("pässword")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(v, "SCRAM-SHA-256$1:") {
		t.Errorf("a log-in takes more iterations than one: %s", v)
	}
	many := "SCRAM-SHA-256$4096:AAAAAAAAAAAAAAAAAAAAAA==$" + "V1W5j5Zlu3UKzKDG/g8aF0trJLhnAy6kWBwioTMrfg0=:" +
		"eYjLR4Digmunk0hS4DqReHnE1+fy9L14QBngPA6MxEY="
	for stored, want := range map[string]bool{
		v: true, v + "x": false, many: false, "": false, "md5": false, "SCRAM-SHA-256$0:AA==$a:b": false,
	} {
		if got := mirror.Verifies(stored, "pässword"); got != want {
			t.Errorf("Verifies(%q) = %t", stored, got)
		}
	}
	if mirror.Verifies(v, "password") {
		t.Error("another password verifies")
	}
}
