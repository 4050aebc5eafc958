package release

import (
	"math"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/internal/stattest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
	"dpproxy/proxy/replay"
)

// ofAges plans a statement over 30 groups at ρ = 1/2, and reads 3 people into the first.
func ofAges(t *testing.T, columns, totals string) (*planner.Plan, *reader.Exact) {
	t.Helper()
	b := plantest.Block(t, "SELECT age, "+columns+" FROM people GROUP BY age", planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "gaussian", Alpha: 0.05, Totals: totals,
		Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
	c := reader.NewCollector(b.Sets[0], nil)
	row := planner.Row{Keys: [][]byte{[]byte("1")}, Measure: -1}
	for i := range b.Sets[0].Places() {
		row.Cells = append(row.Cells, planner.Cell{At: i, Sum: []byte("3")})
	}
	if err := c.Take(0, row); err != nil {
		t.Fatal(err)
	}
	exact, err := c.Exact()
	if err != nil {
		t.Fatal(err)
	}
	return &planner.Plan{Blocks: []*planner.BlockPlan{b}}, exact
}

// A spread has the root mean squares of values of groups, and of totals up to them.
type spread struct{ values, totals []float64 }

// add adds one of so many draws of n, of which the true values are 3 times the factor in the first group and 0 in others.
func (s *spread) add(n []float64, factor float64, draws int) {
	if s.values == nil {
		s.values, s.totals = make([]float64, len(n)), make([]float64, len(n))
	}
	total := 0.0
	for i, x := range n {
		if i == 0 {
			x -= 3 * factor
		}
		total += x
		s.values[i] += x * x / float64(draws)
		s.totals[i] += total * total / float64(draws)
	}
}

// differs reports whether a root mean square of draws is another one than stated.
func differs(square, stated float64, draws int) bool {
	return math.Abs(math.Sqrt(square)/stated-1) > 5/math.Sqrt(2*float64(draws))
}

// TestErrorsOfRunningTotals answers statements of which running totals are measured. The errors of groups, and of totals, are those that
// are stated, and their replicas have the same. Groups that are measured by themselves have others.
func TestErrorsOfRunningTotals(t *testing.T) {
	const draws = 500
	for column, factor := range map[string]float64{"count(*)": 1, "sum(age)": 1} {
		plan, exact := ofAges(t, column+", dp.stderr("+column+")", "on")
		b, src := plan.Blocks[0], stattest.Source(t)
		measured, ok := planner.SequencesOf(b.Sets[0], 0)
		if !ok {
			t.Fatalf("%s: totals are not measured", column)
		}
		_, totals := measured.Deviations(30)
		var true, replicas spread
		var stated []float64
		for range draws {
			r := New(plan, func(int) []*Set { return nil }, nil, src)
			if err := r.Begin([][]*reader.Exact{{exact}}); err != nil {
				t.Fatal(err)
			}
			columns := b.Columns(r.Released(0))
			n := numbersOf(t, columns[1])
			true.add(n, factor, draws)
			stated = numbersOf(t, columns[2])
			// A replica is as far from what was released as that is from the truth.
			again := numbersOf(t, replay.NewReplicas(plan, [][]*planner.Released{r.Released(0)}).Next()[0][1])
			for i := range again {
				again[i] -= n[i]
			}
			again[0] += 3 * factor
			replicas.add(again, factor, draws)
		}
		for i := range stated {
			for name, of := range map[string]spread{"the answer": true, "replicas": replicas} {
				if differs(of.values[i], stated[i], draws) || differs(of.totals[i], totals[i], draws) {
					t.Errorf("%s, group %d of %s: errors of %.2f, and of %.2f in the total; stated %.2f and %.2f", column, i, name,
						math.Sqrt(of.values[i]), math.Sqrt(of.totals[i]), stated[i], totals[i])
				}
			}
		}
		alone := math.Sqrt(true.values[0]) / totals[0] * math.Sqrt(30) // of groups as precise as the first would be by itself
		if last := true.totals[29]; !differs(last, alone, draws) {
			t.Errorf("%s: the last total has an error of %.2f, as if groups were measured by themselves", column, math.Sqrt(last))
		}
	}
}

// TestMeasuredTotals tells which statements are measured such that totals are precise.
func TestMeasuredTotals(t *testing.T) {
	for _, of := range []struct {
		columns, totals string
		want            bool
	}{
		{"sum(count(*)) OVER (ORDER BY age)", "", true},
		{"sum(count(*)) OVER (ORDER BY age)", "off", false},
		{"sum(count(*)) OVER (ORDER BY age), count(*)", "", false},
		{"sum(count(*)) OVER (ORDER BY age), count(*)", "on", true},
		{"count(*), avg(age)", "on", false},
		{"count(DISTINCT name)", "on", false},
		{"sum(count(*)) OVER (ORDER BY age), sum(sum(age)) OVER (ORDER BY age)", "auto", true},
	} {
		plan, _ := ofAges(t, of.columns, of.totals)
		if _, got := planner.SequencesOf(plan.Blocks[0].Sets[0], 0); got != of.want {
			t.Errorf("%s with dp.totals = %s: %t", of.columns, of.totals, got)
		}
	}
	for _, sql := range []string{ // nobody has one row, or groups have no order that is known here
		"SELECT ward, sum(count(*)) OVER (ORDER BY ward) FROM visits GROUP BY ward",
		"SELECT age, sum(count(*)) OVER (ORDER BY age) FROM people p JOIN visits v ON v.person = p.id GROUP BY age",
		"SELECT region, sum(count(*)) OVER (ORDER BY region) FROM people GROUP BY region",
		"SELECT sum(count(*)) OVER (ORDER BY age) FROM people GROUP BY ROLLUP (age)",
	} {
		set := plantest.Block(t, sql, planner.Settings{
			EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "auto", Alpha: 0.05, Totals: "on",
			Limits: policy.Limits{PublicFanout: 1, Work: 1},
		}).Sets[0]
		if _, got := planner.SequencesOf(set, 0); got {
			t.Errorf("totals of %s are measured", strings.ToLower(sql))
		}
	}
}
