package mirror_test

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
)

// withheldPlan copies shops, regions and a view over both, and hides columns of shops.
func withheldPlan(columns ...string) mirror.Plan {
	return mirror.Plan{
		Public:   []catalog.Name{name("shops"), name("regions"), name("seen")},
		Withheld: map[catalog.Name][]string{name("shops"): columns},
		Analysts: []mirror.Analyst{{Name: "ana", Password: "x"}},
	}
}

const withheldSchema = `
CREATE TYPE secret_kind AS ENUM ('secret_a');
CREATE TABLE regions (name text PRIMARY KEY, secret_code text UNIQUE);
INSERT INTO regions VALUES ('north', 'secret_n');
CREATE TABLE shops (id int PRIMARY KEY, secret_address text UNIQUE, region text REFERENCES regions, secret_kind secret_kind,
	size int, double int GENERATED ALWAYS AS (size * 2) STORED, secret_region text REFERENCES regions (secret_code));
CREATE INDEX secret_index ON shops (secret_address);
INSERT INTO shops VALUES (1, 'secret_1', 'north', 'secret_a', 10), (2, 'secret_2', NULL, NULL, 20);
CREATE VIEW seen AS SELECT id, size FROM shops`

// TestHiddenColumnsOfPublicTables holds that neither names nor values of a hidden column are copied with the rows of a public table.
func TestHiddenColumnsOfPublicTables(t *testing.T) {
	s, up := startMirror(t), start(t)
	p := pair{connect(t, up.URL("postgres", pgtemp.Superuser)), connect(t, s.URL("postgres", pgtemp.Superuser)), s, "postgres"}
	run(t, p.upstream, withheldSchema)
	shown, plan := withheldPlan(), withheldPlan("secret_address", "secret_kind", "secret_region", "secret_index")
	plan.Withheld[name("regions")] = []string{"secret_code"}
	p.sync(t, shown)
	tx, err := p.mirror.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = mirror.Verify(t.Context(), tx, plan, p.confirmed(t).Schema, mirror.Origins{})
	_ = tx.Rollback(t.Context())
	if err == nil || !strings.Contains(err.Error(), "public.shops has the hidden column secret_address") {
		t.Errorf("the self-test of a mirror that has the column: %v", err)
	}
	err = mirror.ProveShown(t.Context(), p.mirror, plan, p.confirmed(t).Schema, mirror.Origins{})
	if err == nil || !strings.Contains(err.Error(), `shows column "secret_address" of public.shops, which the policy hides`) {
		t.Errorf("dpproxy serves by a policy that hides columns whose values the mirror has: %v", err)
	}
	p.sync(t, plan)
	run(t, p.upstream, "UPDATE shops SET secret_address = 'secret_' || id + 5")
	if again := p.sync(t, plan); len(again) != 0 {
		t.Errorf("values of a hidden column changed, and sync did %q", again)
	}
	if err := mirror.ProveShown(t.Context(), p.mirror, plan, p.confirmed(t).Schema, mirror.Origins{}); err != nil {
		t.Error(err)
	}
	naming(t, p, "secret_")
	ana := p.as(t, "ana")
	for query, want := range map[string]string{
		"SELECT string_agg(s::text, ' ' ORDER BY id) FROM shops s":       "(1,north,10,20) (2,,20,40)",
		"SELECT string_agg(r::text, ' ') FROM regions r":                 "(north)",
		"SELECT string_agg(s::text, ' ' ORDER BY id) FROM seen s":        "(1,10) (2,20)",
		"SELECT count(*) FROM shops s JOIN regions r ON r.name = region": "1",
	} {
		if got := value(t, ana, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	p.sync(t, shown)
	if got := value(t, p.mirror, "SELECT min(secret_address) FROM shops"); got != "secret_6" {
		t.Errorf("shown again: %s", got)
	}
}

// TestViewsOfHiddenColumns holds that nothing public is computed from a column of a public table that is hidden.
func TestViewsOfHiddenColumns(t *testing.T) {
	upstream := connect(t, start(t).URL("postgres", "postgres"))
	for sql, fits := range map[string]bool{
		"CREATE VIEW d AS SELECT k FROM w":                                                                    true,
		"CREATE VIEW d AS SELECT count(*) FROM w JOIN x ON x.k = w.k":                                         true,
		"CREATE VIEW d AS SELECT count(*) FROM w WHERE NOT EXISTS (SELECT FROM x)":                            true,
		"CREATE TABLE d (k int)":                                                                              true,
		"CREATE VIEW d AS SELECT * FROM w":                                                                    false,
		"CREATE VIEW d AS SELECT k FROM w WHERE s > 1":                                                        false,
		"CREATE VIEW d AS SELECT k FROM w ORDER BY s":                                                         false,
		"CREATE VIEW d AS SELECT count(*) FROM w JOIN x USING (s)":                                            false,
		"CREATE VIEW d AS SELECT count(*) FROM w NATURAL JOIN x":                                              false,
		"CREATE VIEW d AS SELECT w FROM w":                                                                    false,
		"CREATE VIEW d AS SELECT to_jsonb(q) AS j FROM (SELECT v AS r FROM w v) q":                            false,
		"CREATE VIEW d AS SELECT k, (SELECT max(s) FROM w) FROM x":                                            false,
		"CREATE MATERIALIZED VIEW d AS SELECT array_agg(s) FROM w":                                            false,
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT max(s) FROM w; END; CREATE VIEW d AS SELECT f()": false,
	} {
		run(t, upstream, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE w (k int, s int); CREATE TABLE x (k int, s int)")
		if strings.Contains(sql, "ATOMIC") && !since(t, upstream, 14, sql) {
			continue
		} else if !strings.Contains(sql, "ATOMIC") {
			run(t, upstream, sql)
		}
		err := mirror.Check(t.Context(), upstream, mirror.Plan{
			Public:   []catalog.Name{name("d"), name("w"), name("x")},
			Withheld: map[catalog.Name][]string{name("w"): {"s"}},
		})
		const want = `public table public.d is computed from column "s" of public.w, which the policy hides`
		if fits && err != nil || !fits && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
