package planner_test

import (
	"strings"
	"testing"

	"dpproxy/planner"
)

// TestOutside: whatever an answer leaves out and no error contains is named before the errors, in one order.
func TestOutside(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT count(*) FROM visits", ""},
		{"SELECT sum(cost) FROM visits", "cost beyond [0, 20000]"},
		{"SELECT sum(birth_year - birth_year % 2) FROM patients WHERE smoker", "an expression beyond [1918, 2010]"},
		{"SELECT sum(least(greatest(cost, 0), 500)) FROM visits", "an expression beyond [0, 500]"},
		{
			"SELECT sum(v.cost) FROM visits v JOIN visits w ON v.patient_id = w.patient_id",
			"joined rows of public.visits beyond 20 of one patient, cost beyond [0, 20000]",
		},
		{
			"SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING count(*) > 3) d",
			"rows in public.visits beyond 20 of one patient in a group",
		},
		{"SELECT stddev(cost) FROM visits", "cost beyond [0, 20000], what limits do to stddev(cost)"},
		{"SELECT avg(cost) FROM visits", "cost beyond [0, 20000]"},
		{"SELECT hospital_id, count(*) FROM visits GROUP BY 1", "groups that few units (patient) have"},
		{
			"SELECT (SELECT count(*) FROM patients), (SELECT sum(cost) FROM visits), (SELECT sum(cost) FROM visits WHERE true)",
			"cost beyond [0, 20000]",
		},
	} {
		p := planWith(t, connect(t), clinic(t), c.sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution = "auto", planner.FixedContribution
		})
		released := make([][]*planner.Released, len(p.Blocks))
		for i, b := range p.Blocks {
			for _, set := range b.Sets {
				released[i] = append(released[i], &planner.Released{Clips: cut{tail: [4]int64{20_000, 900, 300, 24}}.clips(set)})
			}
		}
		if got := strings.Join(p.Outside(released), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.sql, got, c.want)
		}
	}
}
