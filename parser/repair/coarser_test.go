package repair_test

import (
	"slices"
	"testing"

	"dpproxy/parser/repair"
)

// TestCoarser writes the statements that ask for larger groups.
func TestCoarser(t *testing.T) {
	const days = "SELECT day, count(*) AS n FROM visits"
	for _, c := range []struct {
		sql  string
		keys []string
		want []string
	}{
		{"SELECT diagnosis, day AS d, count(*) FROM visits WHERE cost > 0 GROUP BY 1, 2 LIMIT 3", []string{"", "month"}, []string{
			"SELECT diagnosis, date_trunc('month', day) AS d, count(*) FROM visits WHERE cost > 0 " +
				"GROUP BY diagnosis, date_trunc('month', day)",
		}},
		{"SELECT date_trunc('day', day), diagnosis, count(*) AS n FROM visits GROUP BY 1, 2", []string{"year", "-"}, []string{
			"SELECT date_trunc('year', day), count(*) AS n FROM visits GROUP BY date_trunc('year', day)",
		}},
		{"EXPLAIN SELECT diagnosis, day, count(*) FROM visits GROUP BY day, diagnosis HAVING count(*) > 5", []string{"-", ""}, []string{
			"EXPLAIN SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis HAVING count(*) > 5",
		}},
		{days + " GROUP BY 1 ORDER BY 1 DESC LIMIT 7", []string{"month"}, []string{
			"SELECT date_trunc('month', day) AS day, count(*) AS n FROM visits GROUP BY date_trunc('month', day)",
		}},
		{days + " GROUP BY day", []string{"", ""}, nil},
		{"SELECT count(*) FROM (" + days + " GROUP BY day) q", []string{"year"}, nil},
	} {
		var got []string
		for _, found := range repair.Coarser(c.sql, clinic(), c.keys) {
			got = append(got, found.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.sql, got, c.want)
		}
	}
}
