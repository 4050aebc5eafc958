package mirror_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
)

// hiddenSchema has columns called secret... in every place that can name a column, and types
// that only they use.
const hiddenSchema = `
CREATE TYPE secret_kind AS ENUM ('a', 'b');
CREATE DOMAIN secret_code AS text CHECK (VALUE <> 'x');
CREATE TYPE secret_part AS (kind secret_kind, code secret_code);
CREATE TYPE secret_span AS RANGE (subtype = numeric);
CREATE TYPE common AS ENUM ('c');
CREATE TABLE people (
	secret_id int PRIMARY KEY, no int NOT NULL UNIQUE, secret_kind secret_kind, secret_parts secret_part[], secret_serial serial,
	during secret_span, kind common, also common, a int, b int,
	sum int GENERATED ALWAYS AS (a + b) STORED, secret_sum int GENERATED ALWAYS AS (a) STORED,
	secret_number int, twice int GENERATED ALWAYS AS (secret_number * 2) STORED,
	mine int GENERATED ALWAYS AS IDENTITY, secret_mine int GENERATED ALWAYS AS IDENTITY,
	CONSTRAINT pair UNIQUE (a, secret_number), CONSTRAINT whole UNIQUE (a) INCLUDE (secret_sum), CHECK (secret_number < 9));
CREATE INDEX plain ON people (a, b);
CREATE INDEX covering ON people (b) INCLUDE (secret_number);
CREATE INDEX expression ON people ((secret_number + 1));
CREATE TABLE calls (id int PRIMARY KEY, secret_person int REFERENCES people, no int REFERENCES people (no), ` +
	`a int REFERENCES people (a), secret_day date, day date);
CREATE TABLE parts (no int NOT NULL, secret_day date NOT NULL, PRIMARY KEY (no, secret_day)) PARTITION BY RANGE (secret_day);
CREATE TABLE parts_2024 PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE VIEW seen AS SELECT no, secret_number AS other, a FROM people;
CREATE VIEW over AS SELECT no, a FROM seen;
COMMENT ON COLUMN people.secret_id IS 'secret_'`

// hiddenPlan hides the columns that are called so.
func hiddenPlan() mirror.Plan {
	hide := func(table string, columns ...string) mirror.Protected {
		p := mirror.Protected{Name: name(table), Comment: "protected", Columns: map[string]mirror.Column{"kind": {AllLabels: true}}}
		for _, c := range columns {
			p.Columns[c] = mirror.Column{Hidden: true}
		}
		return p
	}
	part := hide("parts_2024", "secret_day")
	part.PartitionOf = name("parts")
	return mirror.Plan{
		Protected: []mirror.Protected{
			hide("people", "secret_id", "secret_kind", "secret_parts", "secret_serial", "during", "also", "secret_sum",
				"secret_number", "secret_mine"),
			hide("calls", "secret_person", "secret_day"), hide("parts", "secret_day"), part,
		},
		Views: []mirror.View{{Name: name("seen"), Shown: true, Hidden: []string{"other"}}, {Name: name("over"), Shown: true}},
		Analysts: []mirror.Analyst{{Name: "ana", Password: "x", Tables: []catalog.Name{
			name("people"), name("calls"), name("parts"),
			name("parts_2024"), name("seen"), name("over"),
		}}},
	}
}

func hiddenServers(t *testing.T) pair {
	s, up := startMirror(t), start(t)
	p := pair{connect(t, up.URL("postgres", pgtemp.Superuser)), connect(t, s.URL("postgres", pgtemp.Superuser)), s, "postgres"}
	run(t, p.upstream, hiddenSchema)
	return p
}

// TestHiddenColumns holds that nothing on the mirror names a hidden column, and that the
// others are there.
func TestHiddenColumns(t *testing.T) {
	p := hiddenServers(t)
	p.sync(t, hiddenPlan())
	if again := p.sync(t, hiddenPlan()); len(again) != 0 {
		t.Errorf("a second run: %q", again)
	}
	if tried := naming(t, p, "secret_"); tried < 150 {
		t.Errorf("%d relations of the catalogue were read", tried)
	}
	for query, want := range map[string]string{
		`SELECT string_agg(format('%s.%s %s%s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attgenerated), ',' ` +
			`ORDER BY attrelid::regclass::text, attnum)
			FROM pg_attribute WHERE attrelid IN ('people'::regclass, 'calls'::regclass, 'parts'::regclass, 'parts_2024'::regclass, ` +
			`'seen'::regclass, 'over'::regclass) AND attnum > 0`: "calls.id integer,calls.no integer,calls.a integer,calls.day date," +
			"over.no integer,over.a integer,parts.no integer,parts_2024.no integer," +
			"people.no integer,people.kind common,people.a integer,people.b integer,people.sum integers," +
			"people.twice integer,people.mine integer,seen.no integer,seen.a integer",
		`SELECT string_agg(format('%s %s', conname, pg_get_constraintdef(oid)), ',' ORDER BY conname) FROM pg_constraint
			WHERE conrelid IN ('people'::regclass, 'calls'::regclass, 'parts'::regclass) ` +
			`AND contype <> 'n'`: "calls_no_fkey FOREIGN KEY (no) REFERENCES people(no),calls_pkey PRIMARY KEY (id)," +
			"people_no_key UNIQUE (no)",
		`SELECT string_agg(indexrelid::regclass::text, ',' ORDER BY 1) FROM pg_index ` +
			`WHERE indrelid = 'people'::regclass`: "people_no_key,plain",
		`SELECT string_agg(typname, ',' ORDER BY typname) FROM pg_type WHERE typnamespace = 'public'::regnamespace ` +
			`AND typtype IN ('e', 'd', 'r', 'm')`: "common",
		`SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relkind = 'S' ` +
			`AND relnamespace = 'public'::regnamespace`: "people_mine_seq",
		`SELECT count(*) FROM pg_attribute WHERE attisdropped`: "0",
		`SELECT pg_get_viewdef('seen') LIKE '%dp.protected%' ` +
			`AND pg_get_viewdef('over') LIKE '%seen%'`: "true",
	} {
		if got := value(t, p.mirror, query); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
	ana := p.as(t, "ana")
	for _, sql := range []string{
		"SELECT % FROM people", "SELECT count(*) FROM calls WHERE % = 1", "SELECT people.% FROM people",
		"SELECT count(*) FROM calls JOIN people USING (%)",
	} {
		hidden := errorOf(t, ana, strings.ReplaceAll(sql, "%", "secret_id"))
		invented := errorOf(t, ana, strings.ReplaceAll(sql, "%", "invented_"))
		if strings.ReplaceAll(hidden, "secret_id", "invented_") != invented {
			t.Errorf("%s: hidden %s, invented %s", sql, hidden, invented)
		}
	}
}

// naming reads every relation of the catalogue as an analyst, and counts them; no row may
// hold the text. It is a parameter, so that no activity shows it.
func naming(t *testing.T, p pair, text string) (tried int) {
	t.Helper()
	ana := p.as(t, "ana")
	rows, err := ana.Query(t.Context(), `SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n `+
		`ON n.oid = c.relnamespace
		WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v') AND has_table_privilege(c.oid, 'SELECT')`)
	if err != nil {
		t.Fatal(err)
	}
	relations, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range relations {
		var found *string
		switch err := ana.QueryRow(t.Context(), "SELECT min(t::text) FROM "+r+" AS t WHERE strpos(t::text, $1) > 0", text).Scan(&found); {
		case err != nil && strings.Contains(err.Error(), "42501"): // a view over catalogues that others may read
		case err != nil:
			t.Errorf("%s: %v", r, err)
		case found != nil:
			t.Errorf("%s has %s", r, *found)
		}
	}
	return len(relations)
}

// errorOf writes all that Postgres says of a statement that it refuses.
func errorOf(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	_, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		t.Fatalf("%s: %v", sql, err)
	}
	return fmt.Sprintf("%s %s (%d) %s %s", refused.Code, refused.Message, refused.Position, refused.Detail, refused.Hint)
}

// TestSyncHides holds that a sync makes a table anew whose columns are hidden or are not any
// more, and nothing else.
func TestSyncHides(t *testing.T) {
	p := hiddenServers(t)
	shown := hiddenPlan()
	shown.Protected[2].Columns, shown.Protected[3].Columns = nil, nil
	p.sync(t, shown)
	hidden := func(plan mirror.Plan) []catalog.Name {
		t.Helper()
		s, err := plan.Read(t.Context(), p.upstream)
		if err != nil {
			t.Fatal(err)
		}
		others, err := plan.OtherForms(t.Context(), p.mirror, s)
		if err != nil {
			t.Fatal(err)
		}
		return others
	}
	if got := hidden(shown); len(got) > 0 {
		t.Errorf("behind its sync a plan differs in %v", got)
	}
	if d := cmp.Diff([]catalog.Name{name("parts"), name("parts_2024")}, hidden(hiddenPlan())); d != "" {
		t.Errorf("before the sync (-want +got):\n%s", d)
	}
	want := []string{
		"recreate table public.parts", "recreate table public.parts_2024", "recreate comments public.parts",
		"recreate comments public.parts_2024",
	}
	for _, plan := range []mirror.Plan{hiddenPlan(), shown, hiddenPlan()} {
		report := slices.DeleteFunc(p.sync(t, plan), func(c string) bool {
			return strings.HasPrefix(c, "grant") || strings.Contains(c, "rights")
		})
		for _, c := range want {
			if !slices.Contains(report, c) {
				t.Errorf("no %q in %q", c, report)
			}
		}
		for _, c := range report {
			if strings.Contains(c, "people") || strings.Contains(c, "calls") {
				t.Errorf("nothing has changed there: %s", c)
			}
		}
		if got := hidden(plan); len(got) > 0 {
			t.Errorf("behind its sync a plan differs in %v", got)
		}
	}
	if got := value(t, p.mirror, "SELECT count(*) FROM pg_attribute WHERE attisdropped OR attname = 'secret_day'"); got != "0" {
		t.Errorf("%s traces of hidden columns", got)
	}
	// The self-test finds a column that somebody else put there.
	run(t, p.mirror, "ALTER TABLE parts ADD secret_day date")
	tx, err := p.mirror.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	err = mirror.Verify(t.Context(), tx, hiddenPlan(), p.confirmed(t).Schema, mirror.Origins{})
	if err == nil || !strings.Contains(err.Error(), "public.parts has the hidden column secret_day") {
		t.Errorf("the self-test: %v", err)
	}
}
