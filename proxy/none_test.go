package proxy_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestNoRows holds that what no row can meet is answered as Postgres does, exactly, and that nothing is charged or read for it.
func TestNoRows(t *testing.T) {
	w := newWorld(t)
	var steps []string
	w.proxy.Trace(func(name string, _, _ bool) { steps = append(steps, name) })
	ana, plain := connect(t, w.url("ana")), connect(t, w.data.URL("postgres", pgtemp.Superuser))
	for _, sql := range []string{
		"SELECT count(*) FROM visits WHERE false",
		"SELECT count(*), sum(cost), avg(cost), max(cost), count(DISTINCT patient_id) FROM visits WHERE 1 = 0 AND cost > 5",
		"SELECT sum(cost) + 1, count(*)::numeric / 3, coalesce(sum(cost), 7) FROM visits WHERE 2 < 1",
		"SELECT diagnosis, count(*) FROM visits WHERE 2 < 1 GROUP BY diagnosis",
		"SELECT diagnosis, GROUPING(diagnosis), count(*), sum(cost) FROM visits WHERE 2 < 1 GROUP BY ROLLUP (diagnosis)",
		"SELECT diagnosis, count(*) FROM visits WHERE (0 = 1) GROUP BY 1",
		"SELECT diagnosis, note FROM (SELECT diagnosis, min(score) AS note FROM visits GROUP BY 1) q WHERE 1 = 0",
		"SELECT id, sum(score) FROM visits WHERE (0=1) GROUP BY id HAVING count(*) > 3",
		"SELECT * FROM (SELECT id, cost FROM visits) q WHERE 1 = 0",
		"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1 LIMIT 0",
		"SELECT count(*) FROM (SELECT * FROM visits WHERE 0 = 1) q",
		"SELECT count(*) FROM visits WHERE NULL",
		"SELECT count(*) FROM visits WHERE diagnosis = NULL OR cost BETWEEN 500 AND 100 OR cost IN (NULL, NULL)",
		"SELECT diagnosis, sum(cost) FROM visits WHERE cost BETWEEN '500' AND '100.5' OR NULL < cost GROUP BY diagnosis",
		"SELECT count(*) FROM patients p JOIN visits v ON p.id = v.patient_id AND 'a' = 'b'",
		"SELECT count(*) FILTER (WHERE cost > 1), bool_or(cost > 3), corr(cost, score) FROM visits WHERE now() < '2000-01-01'",
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheDescribe} {
			steps = nil
			var got string
			cost := w.price(t, func() { got = sitetest.Rows(t, ana, sql, mode) })
			if want := sitetest.Rows(t, plain, sql, mode); got != want {
				t.Errorf("%s: %s, in Postgres %s", sql, got, want)
			}
			if cost != 0 || slices.ContainsFunc(steps, func(s string) bool { return s == "open" || s == "reserve" || s == "read" }) {
				t.Errorf("%s: costs %d, with the steps %v", sql, cost, steps)
			}
		}
	}
	// Beside it another block is read, and paid.
	one := w.price(t, func() { must(t, ana, "SELECT count(*) FROM patients") })
	both := "SELECT (SELECT count(*) FROM visits WHERE false), (SELECT count(*) FROM patients) > 500"
	if cost := w.price(t, func() {
		if got := sitetest.Rows(t, ana, both, pgx.QueryExecModeSimpleProtocol); got != "0|t" {
			t.Errorf("%s: %s", both, got)
		}
	}); cost != one {
		t.Errorf("%s: costs %d, and %d alone", both, cost, one)
	}
}

// TestUnmetIsSaid: of conditions that no declared value meets it is said which values there are, and which rows the answer leaves out.
func TestUnmetIsSaid(t *testing.T) {
	w := newWorld(t)
	ana, said := noticesOf(t, w)
	cost := w.price(t, func() {
		sql := "SELECT count(*), sum(cost) FROM visits WHERE diagnosis = 'Flue'"
		if got := sitetest.Rows(t, ana, sql, pgx.QueryExecModeSimpleProtocol); got != "0|" {
			t.Errorf("%s: %s", sql, got)
		}
	})
	must(t, ana, "SELECT count(*) FROM visits WHERE cost BETWEEN 500 AND 100")
	must(t, ana, "SELECT count(*) FROM visits WHERE 1 = 0") // as tools ask for columns
	want := []string{
		"no value of diagnosis meets the conditions; the values are flu, cold, asthma\n",
		"Left out: rows whose diagnosis is none of the 3 values that the policy declares\n",
		"no row can meet the conditions: the answer is exact and cost nothing\n",
	}
	if cost != 0 || !slices.Equal(*said, want) {
		t.Errorf("it costs %d, and says %q", cost, *said)
	}
}
