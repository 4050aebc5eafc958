package planner_test

import (
	"strings"
	"testing"

	"dpproxy/planner"
)

// TestRemarks: private groups, and a top that is asked for and cannot be chosen, are told with the answer.
func TestRemarks(t *testing.T) {
	const few = "Groups that few units (patient) have are not shown: it takes about 11, and more of those in several groups. " +
		"A larger dp.epsilon shows smaller ones, and fewer keys make larger ones."
	for _, c := range []struct{ sql, top, want string }{
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "on", ""},
		{"SELECT hospital_id, count(*) FROM visits GROUP BY 1", "auto", few},
		{"SELECT hospital_id, count(*) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 1", "on", few},
		{
			"SELECT diagnosis, count(*) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 2", "on",
			"All groups were measured in spite of dp.top = on: LIMIT is more than half of the groups.",
		},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 2", "auto", ""},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 1", "on", ""},
		{
			"SELECT birth_year, count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 60", "auto",
			"The largest of 91 groups are likely to be too large: they are also those with the largest noise.",
		},
		{
			"SELECT birth_year, count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 2", "off",
			"The largest of 91 groups are likely to be too large: they are also those with the largest noise.",
		},
		{
			"SELECT day - 1, count(*) FROM visits WHERE day < '2020-06-01' GROUP BY 1 ORDER BY 2 DESC LIMIT 1", "off",
			"The largest of 152 groups are likely to be too large: they are also those with the largest noise. " +
				"SET dp.top = auto chooses them first, and measures them anew.",
		},
		{"SELECT dp.error(percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)), dp.error(avg(cost)) FROM visits", "auto", ""},
		{
			"SELECT dp.error(mode() WITHIN GROUP (ORDER BY diagnosis)) FROM visits", "auto",
			"dp.error is NULL of mode(diagnosis): no error of the value is known.",
		},
	} {
		p := planWith(t, connect(t), clinic(t), c.sql, func(s *planner.Settings) { s.Top, s.Mechanism = c.top, "auto" })
		if got := strings.Join(p.Remarks(), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.sql, got, c.want)
		}
	}
}
