package bench_test

import (
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
)

// kinds has groups of 10 to 100,000 people, of whom each is in two groups at most.
const kinds = `
CREATE TABLE events (id int PRIMARY KEY, person int NOT NULL, kind text NOT NULL);
INSERT INTO events SELECT row_number() OVER (), (row_number() OVER () % 100000)::int, k FROM
  (VALUES ('a', 10), ('b', 30), ('c', 100), ('d', 300), ('e', 1000), ('f', 3000), ('g', 10000), ('h', 30000),
  ('i', 100000)) AS s(k, n), generate_series(1, n);
ANALYZE;`

const kindsPolicy = `
privacy_unit: {name: person, budget: {epsilon: 9000, delta: 1e-6, selection_delta: 0}}
tables:
  events: {unit: person, max_rows: 1, max_partitions: 4, columns: {kind: {values: [a, b, c, d, e, f, g, h, i]}}}
analysts:
  ana: {password: VERIFIER, tables: [events]}
`

// TestAccuracyGroups shows the price of groups of very different sizes when each is as precise as it
// needs, and when all are as precise as the smallest.
func TestAccuracyGroups(t *testing.T) {
	if !*accuracy {
		return // a measurement, not a test: make accuracy runs it
	}
	s := sitetest.New(t, kinds, kindsPolicy)
	p := psqlClient{t, s.Run(t).Addr}
	const sql = "SELECT kind, count(*), round(dp.upper(count(*))::numeric - count(*)) AS error FROM events GROUP BY 1 ORDER BY 1"
	for _, c := range []struct {
		title    string
		settings []string
	}{
		{"5 % of each group, or 2 people", []string{"dp.relative_error=0.05", "dp.error=2"}},
		{"all groups as precise as 2 people", []string{"dp.error=2", "dp.mechanism=brownian"}},
		{"5 % of each group, or 5 people", []string{"dp.relative_error=0.05", "dp.error=5"}},
		{"all groups as precise as 5 people", []string{"dp.error=5", "dp.mechanism=brownian"}},
		{"5 % of six groups of nine", []string{"dp.relative_error=0.05", "dp.target_fraction=0.6"}},
	} {
		value, notice, ok := p.ask(sql, append(c.settings, "dp.max_epsilon=60")...)
		if !ok {
			t.Fatal(notice)
		}
		t.Logf("%s: %s\n  %s", c.title, strings.TrimSpace(notice), strings.ReplaceAll(value, "\n", ", "))
	}
}

const paymentsPolicy = `
privacy_unit: {name: person, budget: {epsilon: 50, delta: 1e-6, selection_delta: 0}}
tables:
  payments:
    unit: person
    mechanisms: [laplace, gaussian, brdp_laplace, brdp_gaussian]
    columns: {amount: {bounds: [0, 20]}}
analysts:
  ana: {password: VERIFIER, tables: [payments]}
brdp: true
`

var chosen = regexp.MustCompile(`(?m)^.*\(chosen\)$`)

// TestAccuracyRecycling shows an error so narrow beside the change by one person that drawing
// noise anew pays, and one where it does not, and says so.
func TestAccuracyRecycling(t *testing.T) {
	s := sitetest.New(t, "CREATE TABLE payments (person int PRIMARY KEY, amount int NOT NULL); "+
		"INSERT INTO payments SELECT i, i % 21 FROM generate_series(1, 1000) AS i", paymentsPolicy)
	p := psqlClient{t, s.Run(t).Addr}
	for _, c := range []struct {
		sql, half string
		recycle   bool
	}{{"SELECT sum(amount) FROM payments", "4", true}, {"SELECT count(*) FROM payments", "20", false}} {
		settings := []string{"dp.error=" + c.half, "dp.max_epsilon=20"}
		plan, notice, ok := p.ask("EXPLAIN "+c.sql, settings...)
		if !ok {
			t.Fatal(notice)
		}
		_, candidates, _ := strings.Cut(plan, "candidates\n")
		candidates, _, _ = strings.Cut(candidates, " └─ cost")
		t.Logf("%s, ± %s\n%s", c.sql, c.half, candidates)
		if got := strings.Contains(chosen.FindString(plan), "brdp_"); got != c.recycle || strings.Contains(plan, "no gain") == c.recycle {
			t.Errorf("%s: recycling chosen is %v, want %v:\n%s", c.sql, got, c.recycle, plan)
		}
		if _, notice, ok = p.ask(c.sql, settings...); !ok || strings.Contains(notice, "brdp_") != c.recycle {
			t.Errorf("%s: %s", c.sql, notice)
		}
	}
}
