package planner_test

import (
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// Joins of tables for which no number of rows is stated take fewer rows where the statement does
// much for each, and say so; a number that is stated is what it is.
func TestJoinRows(t *testing.T) {
	const pairs = "visits a JOIN visits b USING (patient_id)"
	for _, c := range []struct {
		sql    string
		stated int64
		want   string // what is told, or the refusal
	}{
		{"SELECT count(*) FROM " + pairs, 0, "cut to 1000 of public.visits"},
		{"SELECT count(*) FROM " + pairs + " WHERE a.diagnosis = 'flu' AND b.cost > 3", 0, "cut to 125 of public.visits"},
		{"SELECT count(*) FROM " + pairs + " WHERE a.diagnosis = 'flu' AND b.cost > 3", 20, "cut to 20 of public.visits"},
		{"SELECT count(*) FROM " + pairs + " WHERE a.diagnosis = 'flu' AND b.cost > 3", 500, "too large"},
		{"SELECT count(*) FROM " + pairs + " JOIN visits c USING (patient_id)", 0, "cut to 125 of public.visits"},
		{
			"SELECT a.diagnosis, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY b.cost) FROM " + pairs +
				" WHERE a.diagnosis || b.diagnosis <> 'x' GROUP BY CUBE (1, b.diagnosis, b.hospital_id)", 0, "too large",
		},
		{"SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING count(*) > 3) a", 0, "at most 1000 rows"},
		{
			"SELECT a.diagnosis, count(*), stddev(b.cost) FROM " + pairs + " GROUP BY ROLLUP (1), b.diagnosis", 0,
			"cut to 31 of public.visits",
		},
	} {
		p := plannertest.ClinicPolicy()
		p.Tables[1].MaxRows = c.stated
		cat := plannertest.CheckedBy(t, p, plannertest.ClinicSchema())
		q, err := planner.Analyze(nil, cat, parsed(t, cat, c.sql), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		plan, err := q.Specialize(nil, evaluate(t, connect(t), q, nil, nil), planner.Settings{
			EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "gaussian", Alpha: 0.05, MaxRows: 5, MaxPartitions: 2,
			Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
		})
		var told string
		if err != nil {
			told = err.Error()
		} else {
			told = strings.Join(plan.LeftOut(), "; ")
		}
		if !strings.Contains(told, c.want) {
			t.Errorf("%s: %q, want %q", c.sql, told, c.want)
		}
	}
}
