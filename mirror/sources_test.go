package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror"
)

// A derivation makes the relation d show rows of the table w.
type derivation struct {
	name, sql string
	// since is the first version of Postgres that has the syntax, where some that are served have not.
	since int
	// always says that d cannot be public whatever w is; want is part of the refusal then.
	always bool
	want   string
	// table says that d can be protected, too.
	table bool
}

var derivations = []derivation{
	{name: "a view", sql: "CREATE VIEW d AS SELECT * FROM w"},
	{
		name: "a view of a view", sql: "CREATE VIEW e AS SELECT * FROM w; CREATE VIEW d AS SELECT 1 WHERE EXISTS (SELECT FROM e)",
		always: true, want: "public table public.d is a view over public.e, which is not public: true in the policy",
	},
	{name: "a materialised view", sql: "CREATE MATERIALIZED VIEW d AS SELECT count(*) FROM w"},
	{
		name: "a view of a materialised view", sql: "CREATE MATERIALIZED VIEW e AS TABLE w; CREATE VIEW d AS TABLE e", always: true,
		want: "over public.e",
	},
	{name: "an inheritance parent", sql: "CREATE TABLE d (k int); ALTER TABLE w INHERIT d", table: true},
	{
		name: "an inheritance parent of a parent", sql: "CREATE TABLE d (k int); CREATE TABLE e () INHERITS (d); ALTER TABLE w INHERIT e",
		always: true, want: "public table public.d has inheritance children that are not public: public.e",
	},
	{
		name: "a partitioned table", sql: "CREATE TABLE d (LIKE w) PARTITION BY LIST (k); ALTER TABLE d ATTACH PARTITION w DEFAULT",
		table: true,
	},
	{
		name: "a table with partitioned partitions", sql: "CREATE TABLE d (LIKE w) PARTITION BY LIST (k); " +
			"CREATE TABLE e (LIKE w) PARTITION BY LIST (k); ALTER TABLE e ATTACH PARTITION w DEFAULT; " +
			"ALTER TABLE d ATTACH PARTITION e DEFAULT",
		table: true,
	},
	{name: "a view over a partition", sql: "CREATE TABLE e (LIKE w) PARTITION BY LIST (k); ALTER TABLE e ATTACH PARTITION w DEFAULT; " +
		"CREATE VIEW d AS SELECT k FROM e", always: true, want: "over public.e"},
	{
		name: "a function that is parsed", since: 14, sql: "CREATE FUNCTION f() RETURNS SETOF int LANGUAGE sql " +
			"BEGIN ATOMIC SELECT k FROM w; END; CREATE VIEW d AS SELECT f() AS k",
	},
	{
		name: "a function that is a text", sql: "CREATE FUNCTION f() RETURNS SETOF int LANGUAGE sql AS 'SELECT k FROM w'; " +
			"CREATE VIEW d AS SELECT f() AS k", always: true,
		want: "public table public.d calls the function public.f(), which may read any table",
	},
	{
		name: "an operator", sql: "CREATE FUNCTION f(int, int) RETURNS bool LANGUAGE plpgsql " +
			"AS 'BEGIN RETURN $1 IN (SELECT k FROM w); END'; " +
			"CREATE OPERATOR === (FUNCTION = f, LEFTARG = int, RIGHTARG = int); " +
			"CREATE VIEW d AS SELECT g AS k FROM generate_series(1, 9) g WHERE g === 1",
		always: true, want: "calls the function public.f(integer,integer)",
	},
	{
		name: "a text that is read", sql: "CREATE VIEW d AS SELECT query_to_xml('TABLE w', true, true, '') AS k", always: true,
		want: "calls the function query_to_xml",
	},
	{name: "a sequence", sql: "CREATE SEQUENCE e; CREATE VIEW d AS SELECT last_value AS k FROM e", always: true, want: "over public.e"},
	{
		name: "statistics", sql: "CREATE VIEW d AS SELECT most_common_vals::text FROM pg_stats WHERE tablename = 'w'", always: true,
		want: "over pg_catalog.pg_stats",
	},
}

// models are what a plan can say of the table w.
var models = map[string]func(*mirror.Plan){
	"public":    func(p *mirror.Plan) { p.Public = append(p.Public, name("w")) },
	"protected": func(p *mirror.Plan) { p.Protected = append(p.Protected, mirror.Protected{Name: name("w")}) },
	"local":     func(p *mirror.Plan) { p.Local = append(p.Local, mirror.Local{Name: name("w")}) },
	"absent":    func(*mirror.Plan) {},
}

// TestDerivedRelations has each kind of relation that can show rows of a table, for each thing that a policy can say of
// that: only what is computed from public relations alone can be public, and no row is in two models.
func TestDerivedRelations(t *testing.T) {
	upstream := connect(t, start(t).URL("postgres", "postgres"))
	check := func(t *testing.T, p mirror.Plan, want string) {
		t.Helper()
		err := mirror.Check(t.Context(), upstream, p)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	publicMayRefer(t, upstream, check)
	for _, d := range derivations {
		for model, add := range models {
			t.Run(fmt.Sprintf("%s of a table that is %s", d.name, model), func(t *testing.T) {
				run(t, upstream, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE w (k int)")
				if !since(t, upstream, d.since, d.sql) {
					return
				}
				public := mirror.Plan{Public: []catalog.Name{name("d")}}
				add(&public)
				switch {
				case d.always && (model == "public" || model == "absent"):
					check(t, public, d.want)
				case model == "public", model == "absent" && strings.Contains(d.name, "partition"):
					check(t, public, "")
				default:
					check(t, public, "public table public.d")
				}
				if !d.table {
					return
				}
				protected := mirror.Plan{Protected: []mirror.Protected{{Name: name("d")}}}
				add(&protected)
				if model == "local" {
					check(t, protected, "protected table public.d")
				}
			})
		}
	}
}

// foreign are tables d that refer to a table w, or share its rows, with what is refused where w is a reference table, and lead to p, which
// is protected.
var foreign = map[string]string{
	"CREATE TABLE d (k int REFERENCES w)":                                                 "",
	"ALTER TABLE w ADD FOREIGN KEY (k) REFERENCES p; CREATE TABLE d (k int REFERENCES w)": "",
	"CREATE TABLE d (k int REFERENCES w, p int REFERENCES p)":                             "public table public.d references",
	"CREATE TABLE e (k int PRIMARY KEY REFERENCES p); CREATE TABLE d (k int REFERENCES e)": "references, inherits from or is a view over " +
		"the protected public.p",
	"CREATE TABLE d () INHERITS (w)": "has inheritance children",
	"CREATE VIEW d AS TABLE w":       "public table public.d inherits from or is a view over the reference table public.w",
}

// publicMayRefer holds that a public table may refer to a reference table, to nothing that is people's beside it, and show no row of it.
func publicMayRefer(t *testing.T, upstream *pgx.Conn, check func(*testing.T, mirror.Plan, string)) {
	t.Helper()
	for sql, want := range foreign {
		run(t, upstream, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE w (k int PRIMARY KEY); "+
			"CREATE TABLE p (k int PRIMARY KEY); "+sql)
		plan := mirror.Plan{Public: []catalog.Name{name("d")}, Protected: []mirror.Protected{{Name: name("p")}, {Name: name("w")}}}
		check(t, plan, "public table public.d")
		plan.Protected[1].Reference = true
		check(t, plan, want)
	}
}

// TestViewsOfLocalTables holds that no view of a policy reads a table of the local model, whatever it reads besides.
func TestViewsOfLocalTables(t *testing.T) {
	upstream := connect(t, start(t).URL("postgres", "postgres"))
	run(t, upstream, "CREATE TABLE w (k int); CREATE TABLE p (k int); CREATE VIEW e AS TABLE w; "+
		"CREATE VIEW d AS SELECT k FROM p WHERE k IN (SELECT k FROM w); CREATE VIEW c AS SELECT k FROM p WHERE k IN (TABLE e)")
	for view, want := range map[string]string{
		"d": "public.d: the view reads public.w, which is of the local model",
		"e": "public.e: the view reads public.w, which is of the local model",
		"c": "public.c: the view reads public.e, which is not in the policy",
	} {
		p := mirror.Plan{Protected: []mirror.Protected{{Name: name("p")}}, Local: []mirror.Local{{Name: name("w")}}}
		p.Views = []mirror.View{{Name: name(view)}}
		if err := mirror.Check(t.Context(), upstream, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", view, err)
		}
	}
}
