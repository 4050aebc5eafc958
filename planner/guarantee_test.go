package planner_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// releases tell which row of docs/guarantee.md an event of a plan belongs to, by its first
// cell. The others are of cells that no statement uses.
var releases = map[string]func(dp.Event) bool{
	"discrete Laplace":                    is[dp.LaplaceEvent],
	"discrete Gaussian":                   is[dp.GaussianEvent],
	"running totals":                      is[dp.ImageEvent],
	"recycled noise (BR-DP)":              is[dp.RecycledEvent],
	"discrete staircase":                  is[dp.StaircaseEvent],
	"exponential mechanism":               is[dp.BoundedRangeEvent],
	"Gaussian partition selection":        selects(is[dp.GaussianEvent]),
	"Laplace partition selection":         selects(is[dp.LaplaceEvent]),
	"optimal partition selection, l₀ ≤ 3": selects(is[dp.PureEvent]),
	"Brownian noise reduction":            is[dp.RefinementEvent],
	"Laplace noise reduction":             is[dp.ReductionEvent],
	"report noisy max (permute and flip)": is[dp.PureEvent],
	"randomised response, k values":       never,
	"two-valued bounded mean":             never,
	"AboveThreshold":                      never,
}

func is[E dp.Event](e dp.Event) bool {
	_, ok := e.(E)
	return ok
}

func selects(of func(dp.Event) bool) func(dp.Event) bool {
	return func(e dp.Event) bool {
		a, ok := e.(dp.ApproximateEvent)
		return ok && of(a.Of)
	}
}

func never(dp.Event) bool { return false }

// TestGuaranteeTable compares the last column of the table of mechanisms in docs/guarantee.md
// with the releases of plans: it names the values of dp.mechanism that are chosen, or the groups
// that are selected, or the limits of contributions with the units above them.
func TestGuaranteeTable(t *testing.T) {
	used := map[string]map[string]bool{}
	chosen := map[string]bool{}
	for p := range everyPlan(t) {
		chosen[p.Mechanism] = true
		set := p.Blocks[0].Sets[0]
		limits := len(set.Choosing())
		for i, e := range p.Event {
			name, row := "`"+p.Mechanism+"`", ""
			switch {
			case set.Selection != nil && i == 0:
				name = "private groups"
			case set.Selection != nil && i <= limits || set.Selection == nil && i < limits:
				name = "limits of contributions"
			default:
				e = ofNoise(p.Mechanism, e)
			}
			for r, belongs := range releases {
				if belongs(e) {
					row = r
				}
			}
			if row == "" {
				t.Fatalf("docs/guarantee.md has no mechanism that releases a %T", e)
			}
			if used[row] == nil {
				used[row] = map[string]bool{}
			}
			used[row][name] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(chosen)), slices.Sorted(slices.Values(planner.Mechanisms())); !slices.Equal(got, want) {
		t.Errorf("the plans of this test choose %v of the mechanisms %v", got, want)
	}
	inSQL := guaranteeTable(t)
	for row, cell := range inSQL {
		if releases[row] == nil {
			t.Errorf("the table has %q, of which this test knows no event", row)
		}
		want := "no"
		if used[row] != nil {
			want = strings.Join(slices.Sorted(maps.Keys(used[row])), ", ")
		}
		if cell != want {
			t.Errorf("docs/guarantee.md says of %s in SQL: %q; plans say: %q", row, cell, want)
		}
	}
	for row := range releases {
		if _, ok := inSQL[row]; !ok {
			t.Errorf("docs/guarantee.md has no row %q", row)
		}
	}
}

// ofNoise returns an event of the noise that a price is spent on where the limit of contributions, and
// so its scale, is not known before.
func ofNoise(mechanism string, e dp.Event) dp.Event {
	switch {
	case mechanism == "laplace" && is[dp.PureEvent](e):
		return dp.LaplaceEvent{}
	case (mechanism == "gaussian" || mechanism == "exponential") && is[dp.RefinementEvent](e):
		return dp.GaussianEvent{}
	}
	return e
}

// everyPlan yields plans with each mechanism, of public and private groups, under both kinds
// of budgets, with limits of contributions that are chosen and public ones, with and without an error
// to reach. Refused ones are left out.
func everyPlan(t *testing.T) func(yield func(*planner.Plan) bool) {
	t.Helper()
	cat := clinic(t)
	targets := []planner.Target{{}, {Error: 100_000, Fraction: 1}, {Relative: 0.05, Fraction: 1}}
	return func(yield func(*planner.Plan) bool) {
		for _, sql := range []string{
			"SELECT sum(cost) FROM visits", "SELECT hospital_id, sum(cost) FROM visits GROUP BY hospital_id",
			"SELECT sum(count(*)) OVER (ORDER BY birth_year) FROM patients GROUP BY birth_year",
			"SELECT mode() WITHIN GROUP (ORDER BY diagnosis) FROM visits",
			"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) FROM visits",
		} {
			script, err := parser.Parse(sql, planner.Names(cat))
			if err != nil {
				t.Fatal(err)
			}
			q, err := planner.Analyze(nil, cat, script.Statements[0], nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, mechanism := range planner.Mechanisms() {
				for _, target := range targets {
					for i := range 4 {
						p, err := q.Specialize(nil, nil, planner.Settings{
							EpsilonPico: 10 * dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: mechanism, Mechanisms: planner.Mechanisms(),
							Pure: i%2 > 0, Contribution: planner.Contributions()[i/2], Alpha: 0.05,
							Target: target, TypicalPico: dp.PicoPerUnit,
							Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
						})
						if err == nil && !yield(p) {
							return
						}
					}
				}
			}
		}
	}
}

// guaranteeTable returns the last cell of each row of the table of mechanisms, by the first.
func guaranteeTable(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/guarantee.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| mechanism | law | pure ε | ρ of zCDP | in SQL |\n")
	if !ok {
		t.Fatal("docs/guarantee.md has no table of mechanisms")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[1:] {
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, ""), "| "), " | ")
		rows[cells[0]] = cells[len(cells)-1]
	}
	return rows
}
