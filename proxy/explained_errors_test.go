package proxy_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

// TestExplainTellsOfErrors has statements whose columns have errors by formulas, by replays, or none: one line says which is which, and it
// is not there if all have formulas.
func TestExplainTellsOfErrors(t *testing.T) {
	w := newWorld(t)
	ana := w.client(t, "ana")
	for _, c := range []struct{ sql, want string }{
		{"SELECT smoker, n FROM " + groups, ""},
		{
			"SELECT smoker, n, 100.0 * n / sum(n) OVER () AS share, random() * n AS any, max(n) OVER () AS most FROM " + groups,
			"errors: n by a formula; share, most by replays, with the answer; any unknown",
		},
		{"CREATE TEMP TABLE z AS SELECT sum(n) AS total FROM " + groups, "errors: total unknown"},
		{
			"SELECT sum(n) AS total FROM (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY birth_year) AS n FROM patients) g",
			"errors: total unknown",
		},
		{"SELECT bool_or(smoker) AS some, sqrt(count(*)) AS root FROM patients", "errors: root by replays, with the answer; some unknown"},
	} {
		sql, want := c.sql, c.want
		lines := sitetest.Rows(t, ana.Conn, "EXPLAIN "+sql, pgx.QueryExecModeSimpleProtocol)
		if got := strings.Contains(lines, "errors: "); got != (want != "") || !strings.Contains(lines, want) {
			t.Errorf("%s:\n%s\nwant %q", sql, lines, want)
		}
	}
}
