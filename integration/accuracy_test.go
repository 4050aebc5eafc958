package integration_test

import (
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
)

// generated has groups whose sizes are lognormal with median 1,000, as counts of pages or
// products are.
const generated = `
CREATE TABLE people (id int PRIMARY KEY, bucket int NOT NULL);
SELECT setseed(0.42);
CREATE TEMP TABLE sizes AS SELECT b, greatest(1, round(1000 * exp(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))))::int AS n FROM generate_series(1, 400) AS b;
INSERT INTO people SELECT row_number() OVER (), b FROM sizes, generate_series(1, n);
CREATE INDEX ON people (bucket);
ANALYZE people;`

const accuracyPolicy = `
privacy_unit: {name: person, budget: {epsilon: %d, delta: 1e-6, selection_delta: 0}}
tables:
  people: {unit: id}
analysts:
  ana: {password: VERIFIER, tables: [people]}
`

// psqlClient asks through psql.
type psqlClient struct {
	t    *testing.T
	addr string
}

// ask runs one statement with settings, and returns what psql prints, without notices, and
// the notice.
func (p psqlClient) ask(sql string, settings ...string) (value, notice string, ok bool) {
	p.t.Helper()
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), "psql", "-X", "-tA", "-h", host, "-p", port, "-U", "ana", "-d", "postgres", "-c", sql)
	options := ""
	for _, s := range settings {
		options += " -c " + s
	}
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password, "PGOPTIONS="+options)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", errs.String(), false
	}
	return strings.TrimSpace(out.String()), errs.String(), true
}

var halfWidth = regexp.MustCompile(`count\(\*\) ± ([0-9.]+)`)

// half returns the error that a notice states.
func half(t *testing.T, notice string) float64 {
	t.Helper()
	m := halfWidth.FindStringSubmatch(notice)
	if m == nil {
		t.Fatalf("no error in %q", notice)
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// score is how a strategy fared.
type score struct{ answered, within int }

func (s *score) add(value string, truth int, r float64) {
	y, _ := strconv.ParseFloat(value, 64)
	s.answered++
	if math.Abs(y-float64(truth)) <= r*float64(truth) {
		s.within++
	}
}

// capRho bounds what one question may cost.
const capRho = 0.004

func epsilonOf(rho float64) string { return strconv.FormatFloat(math.Sqrt(2*rho), 'g', 12, 64) }

// reduction asks for the error itself.
func reduction(p psqlClient, questions []question, r float64) (s score) {
	for _, q := range questions {
		value, _, ok := p.ask(q.sql, fmt.Sprintf("dp.relative_error=%v", r), "dp.max_epsilon="+epsilonOf(capRho))
		if !ok {
			return s
		}
		s.add(value, q.truth, r)
	}
	return s
}

// doubling asks with twice the budget until the error suffices, at a confidence that allows
// for its looks.
func doubling(p psqlClient, questions []question, r float64) (s score) {
	const first, looks = 2e-6, 11
	for _, q := range questions {
		for rho := first; ; rho *= 2 {
			value, notice, ok := p.ask(q.sql, "dp.epsilon="+epsilonOf(math.Min(rho, capRho)), fmt.Sprintf("dp.confidence=%v", 1-0.05/looks))
			if !ok {
				return s
			}
			y, _ := strconv.ParseFloat(value, 64)
			if rho >= capRho || half(p.t, notice)*(1+r) <= r*math.Abs(y) {
				s.add(value, q.truth, r)
				break
			}
		}
	}
	return s
}

// fixed asks with the budget that a count of median size needs.
func fixed(p psqlClient, questions []question, r, median float64) (s score) {
	sigma := r * median / 1.96
	for _, q := range questions {
		value, _, ok := p.ask(q.sql, "dp.epsilon="+epsilonOf(1/(2*sigma*sigma)))
		if !ok {
			return s
		}
		s.add(value, q.truth, r)
	}
	return s
}

type question struct {
	sql   string
	truth int
}

// TestBenchAccuracy counts, through psql, how many questions a budget answers at a relative
// error: by noise reduction, by doubling, and with a fixed epsilon.
func TestBenchAccuracy(t *testing.T) {
	if !*benchmarks {
		return // a measurement, not a test
	}
	for _, epsilon := range []int{1, 3} {
		template := newSite(t, generated, fmt.Sprintf(accuracyPolicy, epsilon))
		var questions []question
		var sizes []float64
		conn := dial(t, template.data.URL("postgres", pgtemp.Superuser))
		rows, err := conn.Query(t.Context(), "SELECT bucket, count(*) FROM people GROUP BY 1 ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		var bucket, n int
		if _, err := pgx.ForEachRow(rows, []any{&bucket, &n}, func() error {
			questions = append(questions, question{fmt.Sprintf("SELECT count(*) FROM people WHERE bucket = %d", bucket), n})
			sizes = append(sizes, float64(n))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, r := range []float64{0.1, 0.05} {
			for name, ask := range map[string]func(p psqlClient) score{
				"noise reduction": func(p psqlClient) score { return reduction(p, questions, r) },
				"doubling":        func(p psqlClient) score { return doubling(p, questions, r) },
				"fixed":           func(p psqlClient) score { return fixed(p, questions, r, 1000) },
			} {
				template.fresh(t)
				d := template.run(t)
				s := ask(psqlClient{t, d.addr})
				d.stop()
				t.Logf("(%d, 1e-6), %3.0f %% error, %-15s: %3d answered, %3d within the error", epsilon, 100*r, name, s.answered, s.within)
			}
		}
	}
}

// fresh gives the site a new ledger.
func (s *site) fresh(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "ledger")); err != nil {
		t.Fatal(err)
	}
	s.command(t, "init", s.policy)
	s.command(t, "sync", s.policy)
}

// kinds has groups of 10 to 100,000 rows, of which one person is in four.
const kinds = `
CREATE TABLE events (id int PRIMARY KEY, person int NOT NULL, kind text NOT NULL);
INSERT INTO events SELECT row_number() OVER (), (row_number() OVER () % 50000)::int, k FROM
  (VALUES ('a', 10), ('b', 30), ('c', 100), ('d', 300), ('e', 1000), ('f', 3000), ('g', 10000), ('h', 30000), ('i', 100000)) AS s(k, n), generate_series(1, n);
ANALYZE;`

const kindsPolicy = `
privacy_unit: {name: person, budget: {epsilon: 1000, delta: 1e-6, selection_delta: 0}}
tables:
  events: {unit: person, max_rows: 1, max_partitions: 4, columns: {kind: {values: [a, b, c, d, e, f, g, h, i]}}}
analysts:
  ana: {password: VERIFIER, tables: [events]}
`

// TestBenchGroups shows what groups of very different sizes cost when each is as precise as it
// needs, and when all are as precise as the smallest.
func TestBenchGroups(t *testing.T) {
	if !*benchmarks {
		return // a measurement, not a test
	}
	p := psqlClient{t, newSite(t, kinds, kindsPolicy).run(t).addr}
	const sql = "SELECT kind, count(*) FROM events GROUP BY 1 ORDER BY 1"
	for _, settings := range [][]string{
		{"dp.relative_error=0.05", "dp.error=5", "dp.max_epsilon=30"},
		{"dp.error=5", "dp.mechanism=brownian", "dp.max_epsilon=30"},
		{"dp.relative_error=0.05", "dp.target_fraction=0.6", "dp.max_epsilon=30"},
		{"dp.relative_error=0.05", "dp.max_epsilon=30"},
	} {
		value, notice, _ := p.ask(sql, settings...)
		t.Logf("%v\n%s%s", settings, notice, strings.ReplaceAll(value, "\n", " "))
	}
}
