package mirror_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/mirror/mirrortest"
)

// state returns the SQLSTATE with which a statement ends, or "".
func state(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	_, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

func TestSync(t *testing.T) {
	for arrangement, start := range map[string]func(*testing.T) pair{"two servers": twoServers, "one server": oneServer} {
		t.Run(arrangement, func(t *testing.T) {
			p := start(t)
			p.sync(t, plan())
			t.Run("backstop", func(t *testing.T) { checkBackstop(t, p) })
			t.Run("shape", func(t *testing.T) { checkShape(t, p) })
			t.Run("left out", func(t *testing.T) { checkLeftOut(t, p) })
			t.Run("public rows", func(t *testing.T) { checkPublicRows(t, p) })
			t.Run("rights", func(t *testing.T) { checkRights(t, p) })
			t.Run("budget view", func(t *testing.T) { checkBudgetView(t, p) })
			t.Run("psql", func(t *testing.T) { checkDescribe(t, p) })
			t.Run("second run", func(t *testing.T) { checkIdempotent(t, p) })
			t.Run("records", func(t *testing.T) { checkRecords(t, p) })
		})
	}
}

func checkBackstop(t *testing.T, p pair) {
	ana := p.as(t, "ana")
	for _, sql := range []string{
		"TABLE patients", "SELECT FROM visits WHERE false", "SELECT 1 FROM sales LIMIT 0", "EXPLAIN SELECT FROM visits",
		"COPY patients TO STDOUT", "CREATE TEMP TABLE x AS SELECT * FROM visits", "DO 'BEGIN PERFORM 1 FROM public.visits; END'",
		"SELECT query_to_xml('TABLE visits', true, true, '')", "SELECT count(*) FROM patients TABLESAMPLE SYSTEM (1)",
	} {
		if got := state(t, ana, sql); got != "PB010" {
			t.Errorf("%s ended with %q", sql, got)
		}
	}
	run(t, ana, "CREATE TEMP VIEW v AS SELECT count(*) FROM visits; PREPARE p AS SELECT * FROM v")
	if got := state(t, ana, "EXECUTE p"); got != "PB010" {
		t.Errorf("a prepared view ended with %q", got)
	}
	if got := state(t, ana, "SET row_security = off; SELECT FROM visits"); got != "42501" {
		t.Errorf("row_security off ended with %q", got)
	}
	_, err := ana.Exec(t.Context(), "SELECT dp.raise('nonce 1')")
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "PB000" || refused.Message != "nonce 1" {
		t.Errorf("dp.raise: %v", err)
	}
}

// checkShape compares columns, types, typmods, collations, keys and foreign keys
// with the real database, the hidden column aside.
func checkShape(t *testing.T, p pair) {
	for _, sql := range []string{
		`SELECT string_agg(format('%s %s %s %s', attname, format_type(atttypid, atttypmod), attnotnull, attcollation), ',' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = 'TABLE'::regclass AND attnum > 0 AND NOT ('TABLE' = 'patients' AND attname = 'name')`,
		`SELECT string_agg(pg_get_constraintdef(oid), ',' ORDER BY contype, conname) FROM pg_constraint
			WHERE conrelid = 'TABLE'::regclass AND contype IN ('p', 'u', 'f')`,
	} {
		for _, table := range []string{"patients", "visits", "lab.labs", "sales", "hospitals", "regions"} {
			query := strings.ReplaceAll(sql, "TABLE", table)
			if up, down := value(t, p.upstream, query), value(t, p.mirror, query); up != down {
				t.Errorf("%s\nupstream %s\nmirror   %s", table, up, down)
			}
		}
	}
	if got := value(t, p.mirror, "SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum "+
		"WHERE enumtypid = 'sex_t'::regtype"); got != "f,m" {
		t.Errorf("labels of sex_t: %q", got)
	}
}

// checkLeftOut looks for everything in the real catalogue that might hold data.
func checkLeftOut(t *testing.T, p pair) {
	for what, query := range map[string]string{
		"defaults":         "SELECT count(*) FROM pg_attrdef",
		"checks":           "SELECT count(*) FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace",
		"partitions":       "SELECT count(*) FROM pg_inherits",
		"index predicates": "SELECT count(*) FROM pg_index WHERE indpred IS NOT NULL OR indexprs IS NOT NULL",
		"comments":         "SELECT count(*) FROM pg_description WHERE description LIKE '%Bob%' OR description LIKE '%oldest%'",
		"unlisted labels":  "SELECT count(*) FROM pg_enum WHERE enumlabel = 'x'",
		"statistics":       "SELECT count(*) FROM pg_stats WHERE tablename IN ('patients', 'visits', 'labs', 'sales')",
		"sizes":            "SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname IN ('patients', 'visits', 'labs', 'sales')",
	} {
		if got := value(t, p.mirror, query); got != "0" {
			t.Errorf("%s: %s", what, got)
		}
	}
}

func checkPublicRows(t *testing.T, p pair) {
	for _, table := range []string{"hospitals", "regions"} {
		query := "SELECT md5(string_agg(r::text, ',' ORDER BY r::text)) FROM " + table + " r"
		if up, down := value(t, p.upstream, query), value(t, p.as(t, "ana"), query); up != down || up == "" {
			t.Errorf("%s: upstream %s, mirror %s", table, up, down)
		}
	}
}

func checkRights(t *testing.T, p pair) {
	ana := p.as(t, "ana")
	for _, sql := range []string{
		"CREATE TABLE public.x(i int)", "CREATE TABLE lab.x(i int)", "CREATE TABLE dp.x(i int)", "CREATE SCHEMA x",
		"INSERT INTO hospitals(id) VALUES (1)", "DELETE FROM patients", "TRUNCATE visits", "SET session_replication_role = replica",
		"SELECT lo_create(0)", "SELECT pg_logical_emit_message(false, 'a', 'b')", "SET ROLE dpproxy_owner",
		"ALTER TABLE visits DISABLE ROW LEVEL SECURITY",
	} {
		if got := state(t, ana, sql); got != "42501" {
			t.Errorf("%s ended with %q", sql, got)
		}
	}
	if got := state(t, ana, "CREATE TEMP TABLE t AS SELECT * FROM hospitals; SELECT count(*) FROM t"); got != "" {
		t.Errorf("a temp table ended with %q", got)
	}
	if got := value(t, ana, "SELECT current_setting('statement_timeout') || current_setting('temp_file_limit') || "+
		"current_setting('dp.epsilon')"); got != "30s100MB0.5" {
		t.Errorf("settings: %s", got)
	}
	if got := value(t, ana, "SELECT rolconnlimit FROM pg_roles WHERE rolname = 'ana'"); got != "7" {
		t.Errorf("connection limit: %s", got)
	}
	if got := value(t, p.as(t, "Bob's"), "SELECT has_table_privilege('visits', 'SELECT')"); got != "false" {
		t.Errorf("Bob's may read visits: %s", got)
	}
}

func checkBudgetView(t *testing.T, p pair) {
	ana := p.as(t, "ana")
	if got := value(t, ana, "SELECT count(*) FROM dp.budget"); got != "0" {
		t.Errorf("without state: %s rows", got)
	}
	run(t, ana, `SET dp.state = '[{"scope": "unit:patient", "limit": 3, "remaining": 0.000000000001}]'`)
	if got := value(t, ana, "SELECT b FROM dp.budget b"); got != "(unit:patient,,,3,,0.000000000001,,,,,)" {
		t.Errorf("with state: %s", got)
	}
	run(t, ana, "RESET dp.state")
	if got := value(t, ana, "SELECT count(*) FROM dp.budget"); got != "0" {
		t.Errorf("after RESET: %s rows", got)
	}
}

func checkDescribe(t *testing.T, p pair) {
	visits, patients := p.psql(t, `\d+ visits`), p.psql(t, `\d+ patients`)
	for text, want := range map[string]string{visits: "bounds [0, 20000]", patients: "bounds [0, 110]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if dt := p.psql(t, `\dt+`); !strings.Contains(dt, "unit patient_id, max_rows 20") {
		t.Errorf("\\dt+:\n%s", dt)
	}
}

// changed leaves out the reports of every run.
func changed(report []string) []string {
	return slices.DeleteFunc(slices.Clone(report), func(c string) bool {
		return strings.HasPrefix(c, "copy ") || strings.HasPrefix(c, "confirm ")
	})
}

func checkIdempotent(t *testing.T, p pair) {
	again := p.sync(t, plan())
	if len(again) != 0 {
		t.Errorf("the second run reported %q", again)
	}
}

// checkRecords holds that what dpproxy has made and confirmed can be read by superusers alone and is nothing that tools list; that a mirror
// that has it in tables, as those of earlier versions, has the same record, and that the next sync moves it and makes nothing anew.
func checkRecords(t *testing.T, p pair) {
	ana := p.as(t, "ana")
	unlisted := func(when string) {
		t.Helper()
		const tables = `SELECT coalesce(string_agg(c.oid::regclass::text, ','), '') FROM pg_class c WHERE relname ~ '^(made|confirmed)'`
		const schemas = `SELECT string_agg(nspname, ',' ORDER BY nspname) FROM pg_namespace WHERE nspname LIKE 'dp%'`
		if got := value(t, ana, tables); got != "" {
			t.Errorf("%s an analyst sees %s", when, got)
		}
		if got := value(t, ana, schemas); got != "dp" {
			t.Errorf("%s there are the schemas %s", when, got)
		}
		for _, sql := range []string{
			"SELECT lo_get(oid) FROM pg_largeobject_metadata", "SELECT lo_open(oid, 262144) FROM pg_largeobject_metadata",
			"TABLE pg_largeobject", "SELECT lo_unlink(oid) FROM pg_largeobject_metadata",
			"SELECT lo_put(oid, 0, '') FROM pg_largeobject_metadata", "SELECT lo_from_bytea(0, '')",
			"SELECT; LOCK TABLE pg_largeobject_metadata IN ROW SHARE MODE",
			fmt.Sprintf("COMMENT ON LARGE OBJECT %s IS ''", value(t, ana, "SELECT max(oid::bigint) FROM pg_largeobject_metadata")),
		} {
			if got := state(t, ana, sql); got != "42501" {
				t.Errorf("%s %s ended with %q", when, sql, got)
			}
		}
	}
	unlisted("After a sync")
	record := func() (*mirror.Confirmation, string) {
		t.Helper()
		c, err := mirror.Confirmed(t.Context(), p.mirror)
		if err != nil || c == nil {
			t.Fatal(c, err)
		}
		name, err := mirror.ConfirmedAs(t.Context(), p.mirror)
		if err != nil {
			t.Fatal(err)
		}
		return c, name
	}
	was, name := record()
	for schema, moved := range map[string]string{
		"dpproxy": "", "dp": "; ALTER TABLE dpproxy.made SET SCHEMA dp; ALTER TABLE dpproxy.confirmed SET SCHEMA dp; DROP SCHEMA dpproxy",
	} {
		run(t, p.mirror, mirrortest.ListRecords+moved+`; SELECT lo_from_bytea(77, '{"Format": 2}');
			ALTER LARGE OBJECT 77 OWNER TO dpproxy_owner; COMMENT ON LARGE OBJECT 77 IS 'dpproxy.confirmed'`) // from before that version
		c, other := record()
		if !c.Outdated() || other == name || !reflect.DeepEqual(c.Schema, was.Schema) {
			t.Errorf("in tables of %s the record is %+v", schema, c)
		}
		want := []string{
			"move " + schema + ".made, of an earlier dpproxy, into a large object",
			"move " + schema + ".confirmed, of an earlier dpproxy, into a large object",
		}
		if got := p.sync(t, plan()); !slices.Equal(got, want) {
			t.Errorf("the sync of a mirror of an earlier version: %q", got)
		}
		if c, _ := record(); c.Outdated() || !reflect.DeepEqual(c.Schema, was.Schema) {
			t.Errorf("after the sync the record is %+v", c)
		}
		unlisted("After the sync of a mirror of an earlier version")
		checkIdempotent(t, p)
	}
	before := recorded(t, p)
	run(t, p.mirror, "CREATE SCHEMA dpproxy AUTHORIZATION dpproxy_owner; CREATE TABLE dpproxy.confirmed (definition text)")
	if after := recorded(t, p); after == before {
		t.Error("the record of a mirror that an earlier version has made since has the same name")
	}
	run(t, p.mirror, "DROP SCHEMA dpproxy CASCADE; SELECT lo_unlink(oid) FROM pg_largeobject_metadata")
	if c, err := mirror.Confirmed(t.Context(), p.mirror); c != nil || err != nil {
		t.Errorf("the record that is lost is %+v, %v", c, err)
	}
	if _, err := mirror.RecordedAs(t.Context(), p.mirror); err == nil || !strings.Contains(err.Error(), "there is no record") {
		t.Errorf("the record that is lost: %v", err)
	}
	if got := p.sync(t, plan()); !slices.Contains(got, "recreate table public.visits") {
		t.Errorf("the sync of a mirror whose records are lost: %q", got)
	}
	unlisted("After a sync without records")
	checkIdempotent(t, p)
}

func TestSyncAppliesChanges(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	expect := func(what string, plan mirror.Plan, want ...string) {
		t.Helper()
		got := changed(p.sync(t, plan))
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: no %q in %q", what, w, got)
			}
		}
		if len(want) == 0 && len(got) > 0 {
			t.Errorf("%s: %q", what, got)
		}
		if again := changed(p.sync(t, plan)); len(again) > 0 {
			t.Errorf("%s, then again: %q", what, again)
		}
	}
	run(t, p.upstream, "ALTER TABLE visits ADD extra text; ALTER TABLE sales DROP amount; INSERT INTO regions VALUES ('new', 'New')")
	expect("columns", plan(), "recreate table public.visits", "recreate table public.sales",
		"recreate foreign key lab.labs.labs_visit_id_fkey")
	if got := value(t, p.mirror, "SELECT count(*) FROM regions"); got != "9" {
		t.Errorf("%s regions", got)
	}
	run(t, p.upstream, "ALTER TYPE sex_t ADD VALUE 'q' BEFORE 'm'")
	q := plan()
	q.Protected[0].Columns["sex"] = mirror.Column{AllLabels: true}
	expect("labels", q, "recreate type public.sex_t", "recreate table public.patients")
	q.Protected[0].Comment = "changed"
	expect("comment", q, "recreate comments public.patients")
	q.Analysts[0].Password, q.Analysts[0].Settings = "another", nil
	expect("password", q, "alter role ana")
	q.Analysts = q.Analysts[:1]
	q.Protected = slices.Delete(q.Protected, 2, 3)
	expect("fewer", q, `drop role Bob's`, "drop table lab.labs", "drop schema lab")
	run(t, p.mirror, "ALTER TABLE visits DISABLE ROW LEVEL SECURITY; ALTER TABLE sales ADD x int; ALTER ROLE ana CREATEDB; "+
		"DROP TABLE patients CASCADE")
	expect("by hand", q, "recreate table public.visits", "recreate table public.sales", "recreate role ana", "create table public.patients")
}

func TestSyncRefusesUpstream(t *testing.T) {
	p := twoServers(t)
	run(t, p.upstream, `
		CREATE MATERIALIZED VIEW mat AS SELECT id FROM patients; CREATE VIEW over AS SELECT count(*) FROM mat;
		CREATE TABLE child () INHERITS (visits); CREATE TABLE notes (visit int REFERENCES visits);
		CREATE TABLE unsure (visit int); ALTER TABLE unsure ADD FOREIGN KEY (visit) REFERENCES visits NOT VALID;
		CREATE ROLE reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; GRANT USAGE ON SCHEMA lab TO reader;
		ALTER TABLE sales ENABLE ROW LEVEL SECURITY; SET ROLE reader`)
	protect := func(n string) mirror.Plan {
		return mirror.Plan{Protected: []mirror.Protected{{Name: name(n)}}}
	}
	publish := func(n string) mirror.Plan {
		return mirror.Plan{Protected: plan().Protected[:1], Public: []catalog.Name{name(n)}}
	}
	visible := publish("sales_2024")
	visible.Protected = []mirror.Protected{{Name: name("sales")}}
	for want, plan := range map[string]mirror.Plan{
		"is a materialised view":                protect("mat"),
		"under row security":                    protect("sales"),
		"has inheritance children":              protect("visits"),
		"view over the protected public.pat":    publish("over"),
		"public table public.notes references":  publish("notes"),
		"public table public.unsure references": publish("unsure"),
		"public table public.sales_2024":        visible,
		"has no table public.a, public.b":       {Public: []catalog.Name{name("b"), name("regions"), name("a")}},
		"listed twice":                          {Public: []catalog.Name{name("b"), name("b")}},
	} {
		if _, err := p.trySync(t, plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestSyncTouchesNothingOfOthers(t *testing.T) {
	p := twoServers(t)
	for prepare, want := range map[string]string{
		"CREATE TABLE visits(i int)":                   "table public.visits exists on the mirror and was not made by dpproxy",
		"CREATE TYPE sex_t AS ENUM ()":                 "type public.sex_t exists",
		"CREATE SCHEMA lab":                            "schema lab exists",
		"CREATE ROLE ana LOGIN":                        "role ana exists",
		"CREATE SCHEMA dp":                             "schema dp exists",
		"CREATE ROLE dpproxy_owner":                    "role dpproxy_owner exists",
		"CREATE EXTENSION dblink":                      "drop extension dblink",
		"CREATE ROLE plain; SET LOCAL ROLE plain":      "must be a superuser",
		"CREATE TABLE hospitals AS SELECT 1 AS number": "table public.hospitals exists",
	} {
		run(t, p.mirror, "BEGIN; "+prepare)
		_, err := p.trySync(t, plan())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", prepare, err)
		}
		run(t, p.mirror, "ROLLBACK")
	}
	p.sync(t, plan())
	if _, err := p.trySync(t, mirror.Plan{Public: []catalog.Name{name("nothing")}}); err == nil {
		t.Fatal("a sync without its table succeeded")
	}
	if got := value(t, p.mirror, "SELECT count(*) FROM hospitals"); got != "20" {
		t.Errorf("after a failed sync the mirror has %s hospitals", got)
	}
}
