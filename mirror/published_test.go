package mirror_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror"
)

// publishing is the plan with a publisher, and with colleagues who may ask about some of the publisher's tables.
func publishing(tables ...string) mirror.Plan {
	p := plan()
	p.Analysts[0].Publishes = true
	cy := mirror.Analyst{Name: "cy", Password: "c"}
	for _, t := range tables {
		cy.Tables = append(cy.Tables, name(t))
	}
	p.Analysts = append(p.Analysts, cy)
	p.Published = func(record string) []catalog.Name {
		if record != "sealed" {
			return nil
		}
		return []catalog.Name{name("patients"), name("visits")}
	}
	return p
}

// publish makes a table as the proxy does.
func publish(t *testing.T, conn *pgx.Conn, sql, readers string) {
	t.Helper()
	run(t, conn, "BEGIN; SELECT set_config('dp.publishing', '"+
		`{"comment": "of visits", "record": "{\"record\": \"sealed\", \"readers\": [`+strings.ReplaceAll(readers, `"`, `\"`)+
		`]}", "readers": [`+readers+"]}', true); "+sql+"; COMMIT")
}

// shadows are temporary objects with the names of what the event trigger reads.
const shadows = `CREATE TEMP TABLE pg_inherits (inhrelid oid, inhparent oid);
	CREATE TEMP TABLE pg_constraint (); CREATE TEMP TABLE pg_rewrite ();
	CREATE TEMP TABLE pg_trigger (); CREATE TEMP TABLE pg_policy (); CREATE TEMP TABLE pg_cast (); CREATE TEMP TABLE pg_transform ();
	CREATE TEMP TABLE pg_statistic_ext (); CREATE TEMP TABLE pg_roles (rolname text);
	CREATE DOMAIN pg_temp.text AS varchar(3)`

// TestFunctionsFindNothingTemporary holds that no function of the schema dp with a search_path takes a session's temporary table or type
// for one of the catalogue: the schema of these is searched first where search_path does not name it.
func TestFunctionsFindNothingTemporary(t *testing.T) {
	p := twoServers(t)
	p.sync(t, publishing("patients"))
	if got := value(t, p.mirror, `SELECT concat(count(*) > 3,
			string_agg(p.oid::regprocedure::text, ', ') FILTER (WHERE c.path NOT LIKE '%, pg_temp'))
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace, unnest(p.proconfig) AS c (path)
		WHERE n.nspname = 'dp' AND c.path LIKE 'search_path=%'`); got != "t" {
		t.Errorf("these find them: %s", got)
	}
}

// TestPublishedTables holds that analysts make tables, indexes and comments in the schema of published tables, if they may, and nothing
// that could run their code in a session that reads these.
func TestPublishedTables(t *testing.T) {
	p := twoServers(t)
	p.sync(t, publishing("patients", "visits"))
	ana, cy := p.as(t, "ana"), p.as(t, "cy")
	publish(t, ana, "CREATE TABLE published.x AS SELECT 1 AS n, text 'a' AS t", `"cy"`)
	for _, sql := range []string{
		"CREATE TABLE published.\"plain one\" (a int PRIMARY KEY, b text NOT NULL UNIQUE)",
		"SET search_path = published; CREATE TABLE y AS TABLE x; SELECT * INTO z FROM x; RESET search_path",
		"CREATE INDEX ON published.x (lower(t), n) WHERE n > 0; COMMENT ON COLUMN published.x.n IS 'a number'",
		"ALTER TABLE published.x RENAME n TO m; ALTER TABLE published.x ALTER m SET NOT NULL; ALTER TABLE published.x ADD UNIQUE (m)",
		"ALTER TABLE published.x RENAME TO w; ALTER TABLE published.w RENAME TO x; ALTER TABLE published.x RENAME m TO n",
		"BEGIN; TRUNCATE published.x; INSERT INTO published.x VALUES (2, 'b'); COMMIT; ANALYZE published.x; REINDEX TABLE published.x",
		"GRANT SELECT ON published.y TO cy; CREATE TEMP TABLE mine (a serial, b int DEFAULT 1 CHECK (b > 0))",
		"CREATE TEMP VIEW v AS TABLE mine",
		"CREATE TEMP VIEW over AS SELECT * FROM published.x; CREATE FUNCTION pg_temp.f(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CREATE TYPE pg_temp.two AS (a int)",
		"CREATE TEMP TABLE keyed (a int PRIMARY KEY); CREATE TEMP TABLE keys (a int REFERENCES keyed)",
	} {
		if got := state(t, ana, sql); got != "" {
			t.Errorf("%s ended with %q", sql, got)
		}
	}
	for _, sql := range []string{
		"CREATE VIEW published.v AS SELECT 1", "CREATE MATERIALIZED VIEW published.v AS SELECT 1", "CREATE SEQUENCE published.s",
		"CREATE FUNCTION published.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CREATE TYPE published.k AS ENUM ('a')",
		"CREATE DOMAIN published.d AS int", "CREATE TABLE published.a (n serial)", "CREATE TABLE published.a (n int DEFAULT 1)",
		"CREATE TABLE published.a (n int GENERATED ALWAYS AS IDENTITY)",
		"CREATE TABLE published.a (n int, m int GENERATED ALWAYS AS (n) STORED)",
		"CREATE TABLE published.a (n int CHECK (n > 0))", "CREATE TABLE published.a (n int) PARTITION BY RANGE (n)",
		"CREATE TABLE published.a () INHERITS (published.x)", "CREATE TEMP TABLE a () INHERITS (published.x)",
		"CREATE TEMP TABLE a (n int REFERENCES published.\"plain one\")",
		"CREATE TABLE published.a (n int REFERENCES published.\"plain one\")",
		"ALTER TABLE published.x ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON published.x USING (true)",
		"CREATE RULE r AS ON UPDATE TO published.x DO INSTEAD NOTHING", "ALTER TABLE published.x ALTER t SET DEFAULT 'a'",
		"CREATE FUNCTION pg_temp.g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; " +
			"CREATE TRIGGER t BEFORE INSERT ON published.x FOR EACH ROW EXECUTE FUNCTION pg_temp.g()",
		"CREATE FUNCTION pg_temp.h(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1'; CREATE INDEX ON published.x (pg_temp.h(t))",
		"CREATE FUNCTION pg_temp.c(published.x) RETURNS text LANGUAGE sql AS 'SELECT 1::text'; " +
			"CREATE CAST (published.x AS text) WITH FUNCTION pg_temp.c(published.x) AS IMPLICIT",
		"CREATE FUNCTION pg_temp.e(published.x[]) RETURNS text LANGUAGE sql AS 'SELECT 1::text'; " +
			"CREATE CAST (published.x[] AS text) WITH FUNCTION pg_temp.e(published.x[])",
		"CREATE DOMAIN pg_temp.word AS text CHECK (VALUE <> 'b'); CREATE TABLE published.a (t pg_temp.word)",
		"CREATE TYPE pg_temp.word AS ENUM ('b'); CREATE TABLE published.a AS SELECT 'b'::pg_temp.word AS t",
		"CREATE STATISTICS pg_temp.s ON n, t FROM published.x",
		"ALTER TABLE published.x ADD EXCLUDE (n WITH =)", "DO $$ BEGIN EXECUTE 'CREATE VIEW published.v AS SELECT 1'; END $$",
		"CREATE OPERATOR published.+ (LEFTARG = int, RIGHTARG = int, FUNCTION = int4pl)", "CREATE COLLATION published.c FROM \"C\"",
	} {
		for _, before := range []string{"", shadows} {
			run(t, ana, "BEGIN; "+before)
			if got := state(t, ana, sql); got != "42501" && got != "42P16" {
				t.Errorf("%s ended with %q after %q", sql, got, before)
			}
			run(t, ana, "ROLLBACK")
		}
	}
	for sql, want := range map[string]string{
		"TABLE published.x": "", "TABLE published.y": "", "TABLE published.z": "42501", "CREATE TABLE published.b AS SELECT 1": "42501",
		"DROP TABLE published.x": "42501", "INSERT INTO published.x VALUES (3, 'c')": "42501",
		"ALTER EVENT TRIGGER dp_published DISABLE": "42501",
	} {
		if got := state(t, cy, sql); got != want {
			t.Errorf("the reader's %s ended with %q", sql, got)
		}
	}
	if got := value(t, cy, "SELECT concat(obj_description('published.x'::regclass), obj_description('published.z'::regclass))"); got !=
		"of visits" {
		t.Errorf("the comments are %q", got)
	}
	if got := value(t, ana, "SELECT coalesce(current_setting('dp.publishing', true), '')"); got != "" {
		t.Errorf("the setting stays %q", got)
	}
	if changes := p.sync(t, publishing("patients", "visits")); len(changes) > 0 {
		t.Errorf("a second sync does %q", changes)
	}
}

// TestPublishedTablesStay holds that sync keeps published tables, whatever becomes of their publisher, of the types of their columns and of
// the policy, and that those read them who may ask what they answer, and whom the owner lets.
func TestPublishedTablesStay(t *testing.T) {
	p := twoServers(t)
	p.sync(t, publishing("patients", "visits"))
	ana := p.as(t, "ana")
	publish(t, ana, "CREATE TABLE published.x AS SELECT 'f'::sex_t AS s, array['m'::sex_t] AS l, NULL::hospitals AS h, 1 AS n", `"cy"`)
	run(t, ana, `CREATE TABLE published.own AS SELECT 1 AS n; GRANT SELECT ON published.own, published.x TO "Bob's"`)
	reads := func(who, table, want string) {
		t.Helper()
		if got := state(t, p.as(t, who), "TABLE published."+table); got != want {
			t.Errorf("%s reads %s: %q", who, table, got)
		}
	}
	reads("cy", "x", "")
	reads("cy", "own", "42501")
	p.sync(t, publishing("patients"))
	reads("cy", "x", "42501")
	reads("Bob's", "x", "")
	p.sync(t, publishing("visits", "patients", "sales"))
	reads("cy", "x", "")

	other := publishing("visits", "patients")
	other.Protected[0].Columns["sex"] = mirror.Column{AllLabels: true}
	other.Public = other.Public[1:]
	changes := p.sync(t, other)
	if !slices.ContainsFunc(changes, func(c string) bool { return strings.HasPrefix(c, "make texts of columns") }) {
		t.Errorf("sync does %q", changes)
	}
	admin := p.mirror
	const types = "SELECT string_agg(concat_ws(' ', s, pg_typeof(s), l, pg_typeof(l), pg_typeof(h)), ';') FROM published.x"
	if got := value(t, admin, types); got !=
		"f text {m} text text" {
		t.Errorf("the rows are %q", got)
	}
	gone := publishing("patients", "visits")
	gone.Analysts = gone.Analysts[1:]
	p.sync(t, gone)
	reads("cy", "x", "")
	reads("Bob's", "own", "")
	const owners = "SELECT string_agg(DISTINCT tableowner, ',') FROM pg_tables WHERE schemaname = 'published'"
	if got := value(t, admin, owners); got != "dpproxy_publisher" {
		t.Errorf("the tables are %s's", got)
	}
	p.sync(t, publishing("patients", "visits"))
	none := plan()
	p.sync(t, none)
	reads("Bob's", "own", "")
	run(t, admin, "CREATE VIEW published.v AS SELECT 1")
	if _, err := p.trySync(t, none); err == nil || !strings.Contains(err.Error(), "has more than tables: view published.v") {
		t.Errorf("with a view there sync says %v", err)
	}
	run(t, admin, "DROP VIEW published.v; DROP TABLE published.x, published.own")
	p.sync(t, none)
	if got := value(t, admin, "SELECT count(*) FROM pg_namespace WHERE nspname = 'published'"); got != "0" {
		t.Error("the schema stays without tables and publishers")
	}
}

// TestPublishedTablesHinderNothing holds that sync makes texts of columns of which the type goes, and takes rights, whatever publishers
// have made over them, and readers have in their sessions.
func TestPublishedTablesHinderNothing(t *testing.T) {
	p := twoServers(t)
	p.sync(t, publishing("patients", "visits"))
	ana, cy := p.as(t, "ana"), p.as(t, "cy")
	publish(t, ana, "CREATE TABLE published.x AS SELECT 'f'::sex_t AS s, array['m'::sex_t] AS l, 1 AS n", `"cy"`)
	run(t, ana, `CREATE INDEX ON published.x USING gin (l); CREATE INDEX ON published.x ((s = 'm'));
		CREATE INDEX ON published.x (n) WHERE s > 'f';
		ALTER TABLE published.x ADD UNIQUE (s, n);
		CREATE TABLE published.y AS SELECT array[x] AS "its ""rows""" FROM published.x;
		CREATE TABLE published.z AS SELECT y FROM published.y;
		CREATE FUNCTION pg_temp.s() RETURNS sex_t LANGUAGE sql BEGIN ATOMIC SELECT s FROM published.x; END;
		CREATE TEMP TABLE t AS SELECT x FROM published.x; GRANT SELECT ON published.x TO cy WITH GRANT OPTION`)
	run(t, cy, `CREATE TEMP VIEW v AS SELECT s FROM published.x; GRANT SELECT ON published.x TO "Bob's"`)
	other := publishing("patients")
	other.Protected[0].Columns["sex"] = mirror.Column{AllLabels: true}
	p.sync(t, other)
	for sql, want := range map[string]string{
		"SELECT concat_ws(' ', s, pg_typeof(s), l, pg_typeof(l), n) FROM published.x":       "f text {m} text 1",
		`SELECT concat_ws(' ', "its ""rows""", pg_typeof("its ""rows""")) FROM published.y`: `{"(f,{m},1)"} text`,
		"SELECT concat_ws(' ', y, pg_typeof(y)) FROM published.z":                           `("{""(f,{m},1)""}") text`,
	} {
		if got := value(t, p.mirror, sql); got != want {
			t.Errorf("%s is %q, not %q", sql, got, want)
		}
	}
	for _, who := range []string{"cy", "Bob's"} {
		if got := state(t, p.as(t, who), "TABLE published.x"); got != "42501" {
			t.Errorf("%s reads: %q", who, got)
		}
	}
}

// number reads one.
func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestErrorOfSum compares the errors of sums with the law: of noise they add up as squares, of limits as they are; an end that is not known
// of one value is not known of the sum.
func TestErrorOfSum(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	ana := p.as(t, "ana")
	for sql, want := range map[string]string{
		"(90, 110, 100, 5.1), (95, 105, 100, 2.55)":                              "(11.18,11.18)", // of Gaussian noise
		"(90, 130, 100, 5.1), (90, 150, 100, 5.1)":                               "(14.14,74.14)",
		"(89.4085, 110.5915, 100, 5), (89.4085, 110.5915, 100, 5)":               "(14.98,14.98)", // of Laplace noise
		"(90, NULL, 100, 5.1), (90, 110, 100, 5.1), (NULL, NULL, NULL, NULL)":    "(14.14,)",
		"(NULL::float8, NULL::float8, NULL::float8, NULL::float8)":               "(,)",
		"(90, 110, 100, NULL), (90, 110, 100, NULL), (7, 7, 7, 0), (7, 8, 7, 0)": "(20.00,21.00)",
	} {
		got := value(t, ana, `SELECT concat('(', round((e).below::numeric, 2), ',', round((e).above::numeric, 2), ')')
			FROM (SELECT dp.error_of_sum(l, u, x, s) AS e FROM (VALUES `+sql+`) AS v (l, u, x, s)) AS e`)
		if got != want {
			t.Errorf("of %s it is %s, not %s", sql, got, want)
		}
	}
	for sql, want := range map[string]string{ // of twenty values of Laplace noise of scale 1, of which the sum is nearly normal
		"0.5": "4.27 to 4.29", "0.8": "8.11 to 8.15", "0.9": "10.40 to 10.45", "0.95": "13.39 to 13.40",
	} {
		got := value(t, ana, `SELECT (dp.error_of_sum(ln(1 - c), -ln(1 - c), 0, sqrt(2.0), c)).above::numeric::text
			FROM (SELECT `+sql+`::float8 AS c) AS c, generate_series(1, 20)`)
		if low, high, _ := strings.Cut(want, " to "); len(got) < 4 || number(t, got) < number(t, low) || number(t, got) > number(t, high) {
			t.Errorf("at %s it is %s, not %s", sql, got, want)
		}
	}
	const other = "SELECT (dp.error_of_sum(0::int, 20::bigint, 10::numeric, 3.0711, 0.99)).above::text"
	if got := value(t, ana, other); !strings.HasPrefix(got, "10") {
		t.Errorf("at another confidence it is %s", got)
	}
}
