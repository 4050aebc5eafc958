package proxy_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/answers"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/internal/sitetest"
	"dpproxy/proxy"
)

// judging is a world whose answers are nearly exact, that remembers, and whose policy wants ten people in each group, of visits 25. Of
// birth years from 1920 to 2010 those from 1930 to 2009 have 12 or 13 patients, and the others none.
func judging(t *testing.T, store answers.Store) (*world, *client) {
	t.Helper()
	w := accurate(t, func(cfg *proxy.Config) { wanting(cfg, 10, store) }, large(t))
	return w, w.client(t, "ana")
}

// wanting has a policy want so many people, of visits 25.
func wanting(cfg *proxy.Config, people int64, store answers.Store) {
	cfg.Defaults.EpsilonPico, cfg.Defaults.DeltaAtto, cfg.Defaults.MinimumPeople = 40*dp.PicoPerUnit, 1e8, people
	cfg.Defaults.Tables = map[catalog.Name]proxy.Allowance{public("visits"): {MinimumPeople: 25}, public("labs"): {MinimumPeople: 2}}
	cfg.Answers = proxy.Answers{Store: store, Version: oneVersion("1"), Epoch: func() string { return "1" }}
}

// asText asks for texts.
var asText = pgx.QueryResultFormats{pgx.TextFormatCode}

// years are rows by birth year: how many there are, how many have a number, and, with a filter of the numbers, how many pass.
const years = "SELECT count(*) || ' ' || count(n) FROM (SELECT birth_year, count(*) AS n FROM patients GROUP BY 1) q"

// inBoth asks in both protocols.
func inBoth(t *testing.T, conn *pgx.Conn, sql, want string) {
	t.Helper()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheDescribe} {
		if got := sitetest.Rows(t, conn, sql, mode, asText); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestMinimumPeople: the largest minimum holds of the policy, the tables of a statement and the session, of each form of statement.
func TestMinimumPeople(t *testing.T) {
	store, err := answers.OpenFiles(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	_, ana := judging(t, store)
	ask := func(conn *pgx.Conn, sql, want string) { t.Helper(); inBoth(t, conn, sql, want) }
	const (
		joined = "SELECT count(n) FROM " +
			"(SELECT p.birth_year, count(DISTINCT p.id) AS n FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY 1) q"
		private = "SELECT hospital_id, count(*) > 0 AS some FROM visits WHERE patient_id <= %d GROUP BY 1 ORDER BY 1"
	)
	ask(ana.Conn, years, "91 80")
	if want := "11 groups withheld: fewer than 10 people by the released counts (values are NULL)."; !strings.Contains(ana.detail, want) {
		t.Errorf("the notice is %q: %q, want %q", ana.notice, ana.detail, want)
	}
	var limits string
	err = ana.QueryRow(t.Context(), "SELECT limits FROM dp.last").Scan(&limits)
	if err != nil || !strings.Contains(limits, "11 groups withheld") {
		t.Error(limits, err)
	}
	ask(ana.Conn, "SELECT count(*) FROM (SELECT birth_year FROM patients GROUP BY 1 HAVING count(*) > -100) q", "80")
	ask(ana.Conn, "SELECT count(*) FROM patients WHERE birth_year = 1925", "")
	ask(ana.Conn, "SELECT count(*) IS NULL, sum(birth_year) IS NULL, dp.error(count(*)) IS NULL FROM patients WHERE birth_year = 1925",
		"t|t|t")
	ask(ana.Conn, "SELECT count(*) > 5 FROM patients WHERE birth_year = 1935", "t")
	ask(ana.Conn, joined, "0") // visits want 25
	ask(ana.Conn, "SELECT count(*) > 5, sum(cost) IS NULL FROM visits WHERE patient_id <= 20", "|t")
	ask(ana.Conn, "SELECT count(*) > 5, sum(cost) IS NULL FROM visits WHERE patient_id <= 60", "t|f") // 59 of them have visits
	for _, both := range []string{"labs l JOIN visits v", "visits v JOIN labs l"} {                   // the largest of two
		ask(ana.Conn, "SELECT count(*) > 5 FROM "+both+" ON v.id = l.visit_id WHERE v.patient_id <= 20", "")
	}
	ask(ana.Conn, fmt.Sprintf(private, 20), "")
	ask(ana.Conn, fmt.Sprintf(private, 500), "1|t\n2|t\n3|t\n4|t\n5|t")
	ask(ana.Conn, "SELECT sex, count(*) IS NULL FROM patients WHERE birth_year < 1931 GROUP BY ROLLUP (sex) ORDER BY 1",
		"f|t\nm|t\nx|t\n|f")
	ask(ana.Conn, "SELECT count(*) FROM (SELECT birth_year, avg(birth_year) AS a FROM patients GROUP BY 1 UNION ALL "+
		"SELECT birth_year, sum(birth_year) FROM patients GROUP BY 1) q WHERE a IS NULL", "22")
	ask(ana.Conn, "SELECT count(*) FROM patients WHERE birth_year > (SELECT avg(birth_year) FROM patients WHERE birth_year = 1925)", "0")

	ana.set(t, "dp.minimum_people = 3")
	ask(ana.Conn, years, "91 80")
	ask(ana.Conn, "SELECT count(*) FROM patients WHERE id <= 6", "")
	ask(ana.Conn, "SELECT count(*) > 5 FROM visits WHERE patient_id <= 20", "")
	ana.set(t, "dp.minimum_people = 30")
	ask(ana.Conn, years, "91 0")
	ask(ana.Conn, "/* dp: minimum_people=5 */ "+years, "91 80")
	if _, err := ana.Exec(t.Context(), "RESET dp.minimum_people"); err != nil {
		t.Fatal(err)
	}
	ana.set(t, "dp.confidence = 0.5")
	ask(ana.Conn, "SELECT count(*) FROM patients WHERE birth_year = 1925", "")
}

// TestRememberedAreJudgedAnew: under another minimum the question is the same, and costs nothing; its answer is judged by the minimum of
// today.
func TestRememberedAreJudgedAnew(t *testing.T) {
	store, err := answers.OpenFiles(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	w, ana := judging(t, store)
	ask := func(conn *pgx.Conn, sql, want string) { t.Helper(); inBoth(t, conn, sql, want) }
	ask(ana.Conn, years, "91 80")
	later := w.like(t, func(cfg *proxy.Config) { wanting(cfg, 20, store) })
	if cost := w.price(t, func() { ask(later, years, "91 0") }); cost != 0 {
		t.Errorf("what is remembered costs %d", cost)
	}
	without := w.like(t, func(cfg *proxy.Config) { wanting(cfg, 0, store) })
	if cost := w.price(t, func() { ask(without, years, "91 91") }); cost != 0 {
		t.Errorf("what is remembered costs %d", cost)
	}
	const sum = "SELECT sum(birth_year) > 0 FROM patients WHERE birth_year < 1950"
	ask(later, sum, "t")
	if cost := w.price(t, func() { ask(without, sum, "t") }); cost == 0 {
		t.Error("a sum without the number of people is not another question")
	}
}

// TestEmptyGroups: public groups that have no row by a released count are NULL or no row, in prepared statements, cursors, copies, tables,
// HAVING, totals and results that are used further.
func TestEmptyGroups(t *testing.T) {
	w := newWorldWith(t, func(cfg *proxy.Config) { cfg.Defaults.DeltaAtto = 1e8 }, large(t))
	ana := w.client(t, "ana")
	rows := func(sql string) string {
		t.Helper()
		return sitetest.Rows(t, ana.Conn, sql, asText)
	}
	for setting, want := range map[string]string{"show": "91 91", "'null'": "91 80", "hide": "80 80"} {
		ana.set(t, "dp.empty_groups = "+setting)
		if got := rows(years); got != want {
			t.Errorf("%s: %s, want %s", setting, got, want)
		}
	}
	ana.set(t, "dp.empty_groups = 'null'")
	rows(years)
	const want = "11 groups of 91 without a row by the released counts (values are NULL)."
	if !strings.Contains(ana.detail, want) {
		t.Errorf("the notice is %q", ana.detail)
	}
	ana.set(t, "dp.empty_groups = hide", "dp.columns = errors")
	const sums = "SELECT birth_year, sum(birth_year) AS s FROM patients WHERE birth_year < $1 GROUP BY birth_year"
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		if got := sitetest.Rows(t, ana.Conn, sums, asText, mode, 1935); strings.Count(got, "\n") != 4 || strings.Contains(got, "||") {
			t.Errorf("%v: %s", mode, got)
		}
	}
	ana.set(t, "dp.columns = values")
	for _, tt := range []struct{ sql, want string }{
		{
			"SELECT count(*) FROM " +
				"(SELECT birth_year FROM patients WHERE birth_year < 1932 GROUP BY ROLLUP (1) HAVING sum(birth_year) < 1e9) q",
			"3",
		},
		{
			"SELECT count(*), count(s) FROM " +
				"(SELECT birth_year, sum(birth_year) AS s FROM patients WHERE birth_year < 1930 GROUP BY ROLLUP (1)) q",
			"1|1",
		},
		{"SELECT sum(birth_year) IS NULL FROM patients WHERE birth_year = 1925", "f"},
		{"SELECT DISTINCT sex FROM patients ORDER BY 1", "f\nm\nx"},
	} {
		if got := rows(tt.sql); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.sql, got, tt.want)
		}
	}
	const grouped = "SELECT birth_year, count(*) AS n FROM patients WHERE birth_year < 1935 GROUP BY 1"
	sitetest.Exec(t, ana.Conn, "BEGIN; DECLARE c CURSOR FOR "+grouped)
	if got := rows("FETCH ALL FROM c"); strings.Count(got, "\n") != 4 {
		t.Errorf("a cursor has %s", got)
	}
	sitetest.Exec(t, ana.Conn, "COMMIT; CREATE TEMP TABLE kept AS "+grouped)
	if got := rows("SELECT count(*) FROM kept"); got != "5" {
		t.Errorf("a table has %s rows", got)
	}
	var out bytes.Buffer
	_, err := ana.PgConn().CopyTo(t.Context(), &out, "COPY ("+grouped+") TO STDOUT")
	if err != nil || strings.Count(out.String(), "\n") != 5 {
		t.Errorf("COPY: %q, %v", out.String(), err)
	}
	const used = "SELECT count(*) > 50 FROM patients WHERE birth_year IN " +
		"(SELECT birth_year FROM patients WHERE birth_year < 1935 GROUP BY 1 HAVING count(*) > -5)"
	if got := rows(used); got != "t" {
		t.Errorf("%s: %s", used, got)
	}
}
