package planner_test

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/internal/plantest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

func showSmallGroups(s *planner.Settings) { s.ShowSmallGroups = true }

// rowed releases one partition of a grouping set whose counts of rows, and counts at the root of
// histograms, are n, and all else is zero.
func rowed(set *planner.GroupingSet, n int64) []*big.Int {
	row := make([]*big.Int, set.Integers())
	for i := range row {
		row[i] = new(big.Int)
	}
	for _, st := range set.Statistics() {
		if strings.HasPrefix(st.Name, "count") || strings.HasPrefix(st.Name, "histogram") {
			row[st.First].SetInt64(n)
		}
	}
	return row
}

// noiseOf returns the noise of the first statistic of a name.
func noiseOf(set *planner.GroupingSet, name string) estimate.Tail {
	i := slices.IndexFunc(set.Statistics(), func(s planner.Statistic) bool { return strings.HasPrefix(s.Name, name) })
	return set.Noise(set.Statistics()[i].First, plantest.NewExact(set).Uncut())
}

// A value is NULL where the interval of its rows reaches below the fewest that have one, and there
// alone; so are its error and its ends. The interval fails with its part of alpha among the groups.
func TestSmallGroups(t *testing.T) {
	for aggregate, fewest := range map[string]float64{
		"avg(height)": 1, "var_pop(height)": 1, "stddev(height)": 2, "corr(height, height)": 2,
		"covar_pop(height, height)": 1, "regr_avgx(height, height)": 1, "dp.lower(avg(height))": 1,
		"dp.upper(avg(height), 0.5)": 1, "dp.stderr(avg(height))": 1,
	} {
		for _, by := range []string{"", " GROUP BY sex"} {
			sql := "SELECT " + aggregate + " FROM people" + by
			b := plantest.Block(t, sql, laplaceSettings())
			set := b.Sets[0]
			half := noiseOf(set, "count").Quantile(0.05 / float64(set.Size()))
			most := int64(math.Ceil(fewest+half)) - 1 // the interval of one more row begins at the fewest
			for n, null := range map[int64]bool{-5: true, 0: true, most: true, most + 1: false, most + 1000: false} {
				if got := cells(b, set, n); slices.Contains(got, "NULL") != null {
					t.Errorf("%s, %d rows: %v, want NULL: %t", sql, n, got, null)
				}
			}
			hidden, all := b.SmallGroups(groupsOf(set, most))
			if !strings.HasPrefix(aggregate, "dp.") && (hidden != set.Size() || all != hidden) {
				t.Errorf("%s: %d of %d values are NULL", sql, hidden, all)
			}
			if hidden, _ := b.SmallGroups(groupsOf(set, most+1)); hidden != 0 {
				t.Errorf("%s: %d values are NULL", sql, hidden)
			}
		}
	}
}

// cells returns the values of the last column, of groups of n rows each.
func cells(b *planner.BlockPlan, set *planner.GroupingSet, n int64) []string {
	columns := b.Columns(groupsOf(set, n))
	return strings.Split(strings.Trim(columns[len(columns)-1], "{}"), ",")
}

func groupsOf(set *planner.GroupingSet, n int64) []*planner.Released {
	r := &planner.Released{Clips: plantest.NewExact(set).Uncut()}
	for range set.Size() {
		r.Rows = append(r.Rows, rowed(set, n))
	}
	return []*planner.Released{r}
}

func laplaceSettings() planner.Settings {
	return planner.Settings{
		EpsilonPico: dp.PicoPerUnit, Mechanism: "laplace", Alpha: 0.05, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	}
}

// Values by their rank have rows by the counts of the first level of their histogram.
func TestSmallGroupsOfHistograms(t *testing.T) {
	for _, aggregate := range []string{
		"percentile_disc(0.5) WITHIN GROUP (ORDER BY cost)", "percentile_cont(ARRAY[0.2, 0.8]) WITHIN GROUP (ORDER BY cost)",
		"dp.lower(percentile_cont(0.5) WITHIN GROUP (ORDER BY cost))", "min(cost)", "dp.upper(max(cost))",
	} {
		sql := "SELECT " + aggregate + " FROM visits"
		b := plan(t, connect(t), clinic(t), sql).Blocks[0]
		for n, null := range map[int64]bool{-50: true, 0: true, 20: true, 100_000: false} {
			if got := cells(b, b.Sets[0], n); slices.Contains(got, "NULL") != null {
				t.Errorf("%s, %d rows: %v, want NULL: %t", aggregate, n, got, null)
			}
		}
		b = planWith(t, connect(t), clinic(t), sql, showSmallGroups).Blocks[0]
		const shown = 20 // rows that are shown, and may be none
		if got := cells(b, b.Sets[0], shown); slices.Contains(got, "NULL") && strings.Contains(aggregate, "percentile") {
			t.Errorf("%s, with small groups: %v", aggregate, got)
		}
	}
}

// Counts, sums and verdicts of no rows are values of their own.
func TestValuesOfNoRows(t *testing.T) {
	b := plantest.Block(t, "SELECT count(*), sum(height), bool_and(height > id), bool_or(height > id) FROM people", laplaceSettings())
	if columns := b.Columns(groupsOf(b.Sets[0], 0)); slices.Contains(columns, "{NULL}") {
		t.Errorf("the values are %v", columns)
	}
	if hidden, all := b.SmallGroups(groupsOf(b.Sets[0], 0)); hidden != 0 || all != 0 {
		t.Errorf("%d of %d values are NULL", hidden, all)
	}
}

// The error that a notice states is that of the values that are shown.
func TestErrorsOfSmallGroups(t *testing.T) {
	b := plantest.Block(t, "SELECT sex, avg(height) FROM people GROUP BY sex", laplaceSettings())
	set := b.Sets[0]
	small, large := rowed(set, 1), rowed(set, 100_000)
	one := b.Errors([]*planner.Released{{Rows: [][]*big.Int{small, large}}})[0]
	both := b.Errors([]*planner.Released{{Rows: [][]*big.Int{large, large}}})[0]
	if one != both || one.Least <= 0 {
		t.Errorf("beside a small group the error is %v, else %v", one, both)
	}
	none := b.Errors(groupsOf(set, 1))[0]
	if got, want := none.String(), "avg(height) of too few rows for its noise"; got != want {
		t.Errorf("the error of small groups is %q, want %q", got, want)
	}
}

// A group that may have no row is measured more precisely for the average that it may have. One that
// surely has none is not, whether its values are shown or not: what is remembered does not depend on
// that.
func TestReductionOfSmallGroups(t *testing.T) {
	for _, show := range []bool{false, true} {
		s := laplaceSettings()
		s.Mechanism, s.Target, s.TypicalPico, s.ShowSmallGroups = "brownian", planner.Target{Error: 0.1}, dp.PicoPerUnit/10, show
		set := plantest.GroupingSet(t, "SELECT avg(height) FROM people", s)
		open := func(rows int64, half float64) bool {
			r := &planner.Released{Rows: [][]*big.Int{rowed(set, rows)}}
			r.Margins = [][]planner.Margin{slices.Repeat([]planner.Margin{{Half: half, Sigma: half / 2}}, set.Integers())}
			return len(set.Reduction.Open(r)) > 0
		}
		for name, tt := range map[string]struct {
			rows int64
			half float64
			want bool
		}{
			"surely none":  {0, 0.9, false},
			"perhaps one":  {0, 1, true},
			"perhaps many": {3, 20, true},
			"many":         {1_000_000, 1, false},
		} {
			if got := open(tt.rows, tt.half); got != tt.want {
				t.Errorf("%s, shown: %t: open is %t, want %t", name, show, got, tt.want)
			}
		}
	}
}
