package planner_test

import (
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// Where there are too few units to choose a limit the number of the policy takes its place, at the price that was
// asked: with a statement about units above it, and without where a proof leaves none.
func TestFewUnits(t *testing.T) {
	conn := connect(t)
	for _, c := range []struct {
		sql           string
		units         int64
		chosen, above bool
	}{
		{"SELECT count(*) FROM visits", 300, false, true},
		{"SELECT count(*) FROM visits", 100_000, true, true},
		{"SELECT count(*) FROM visits", 0, true, true}, // unsaid
		{"SELECT count(*), avg(cost), sum(tip) FROM visits", 300, false, true},
		{"SELECT count(*) FROM patients, hospitals", 300, false, false},
		{"SELECT count(*) FROM patients, hospitals", 100_000, true, true},
	} {
		p := plannertest.ClinicPolicy()
		p.Units = c.units
		p.Tables[0].AutoRows = 1
		p.Tables[1].MaxRows, p.Tables[1].MaxPartitions, p.Tables[1].AutoRows = 0, 0, 40
		cat := plannertest.CheckedBy(t, p, plannertest.ClinicSchema())
		for _, mechanism := range []string{"gaussian", "laplace"} {
			q, err := planner.Analyze(nil, cat, parsed(t, cat, c.sql), nil)
			if err != nil {
				t.Fatalf("%s: %v", c.sql, err)
			}
			plan, err := q.Specialize(nil, evaluate(t, conn, q, nil, nil), planner.Settings{
				EpsilonPico: dp.PicoPerUnit / 10, Mechanism: mechanism, Alpha: 0.05,
				Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
			})
			if err != nil {
				t.Fatalf("%s: %v", c.sql, err)
			}
			for _, m := range plan.Blocks[0].Sets[0].Measures {
				if chosen, above := m.Norms[0].Choice != nil, m.Tail != nil; chosen != c.chosen || above != c.above {
					t.Errorf("%s, %s, of %d units: a limit is chosen %t, units above are told %t", c.sql, mechanism, c.units, chosen, above)
				}
			}
			measure, asked := dp.ZCDP, int64(dp.PicoPerUnit/200)
			if mechanism == "laplace" {
				measure, asked = dp.PureDP, dp.PicoPerUnit/10
			}
			loss, err := accountant.Price(plan.Event, measure)
			if err != nil {
				t.Fatal(err)
			}
			if short := asked - loss.Pico(); short < 0 || short > asked/50 {
				t.Errorf("%s, %s, of %d units: it costs %v of %d", c.sql, mechanism, c.units, loss, asked)
			}
		}
	}
}
