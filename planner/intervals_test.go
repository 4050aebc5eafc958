package planner_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/internal/plantest"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// intervalDraws is how often each interval is drawn of each data.
const intervalDraws = 100

// mostMissed is how many of the draws may miss at a confidence of 95 %: more do with a probability below 10⁻⁹.
func mostMissed() int {
	of := distuv.Binomial{N: intervalDraws, P: 0.05}
	for k := 0; ; k++ {
		if 1-of.CDF(float64(k)) < 1e-9 {
			return k
		}
	}
}

// rowsOver are data: how many rows each of so many buckets has. A row between empty buckets is the worst for an end of an
// interval: each empty bucket beyond it is as wrong, and as likely, as the others.
func rowsOver(buckets int) map[string][]int64 {
	last := buckets - 1
	of := func(rows map[int]int64) []int64 {
		out := make([]int64, buckets)
		for at, n := range rows {
			out[at] = n
		}
		return out
	}
	tail := of(nil)
	for i := range tail {
		tail[i] = int64(5000 / (1 + i))
	}
	return map[string][]int64{
		"a tail":                    tail,
		"one between two crowds":    of(map[int]int64{0: 10_000, last / 2: 1, last: 10_000}),
		"one behind the lower half": of(map[int]int64{0: 10_000, 1: 1, last: 10_000}),
		"one before the upper half": of(map[int]int64{0: 10_000, last - 1: 1, last: 10_000}),
		"all at the lower bound":    of(map[int]int64{0: 20_000}),
		"all at the upper bound":    of(map[int]int64{last: 20_000}),
		"three rows":                of(map[int]int64{last / 3: 3}),
	}
}

// rowsBy returns the first and the last bucket of the rows that Postgres makes percentile_cont and percentile_disc of a fraction of.
func rowsBy(rows []int64, q float64) (first, last int) {
	n := int64(0)
	for _, in := range rows {
		n += in
	}
	at := func(row int64) int {
		for i, in := range rows {
			if row -= in; row <= 0 {
				return i
			}
		}
		return len(rows) - 1
	}
	cont := q * float64(n-1)
	disc := max(1, int64(math.Ceil(q*float64(n))))
	return at(min(disc, 1+int64(math.Floor(cont)))), at(max(disc, 1+int64(math.Ceil(cont))))
}

// TestIntervalsCover draws the choices of percentiles, MIN and MAX on data made to mislead them, and counts how often dp.lower
// and dp.upper do not hold what Postgres would say. Ends that are looked for half as far die of most of the data.
func TestIntervalsCover(t *testing.T) {
	const ofYear, ofCost = "WITHIN GROUP (ORDER BY birth_year)", "WITHIN GROUP (ORDER BY cost)"
	years, costs := fine(t, 1920, 2010), fine(t, 0, 2_000_000)
	for _, tt := range []struct {
		call, from string
		q          float64
		pure       bool
		shape      estimate.Shape
		step       float64
	}{
		{"percentile_disc(0.5) " + ofYear, "patients", 0.5, false, years, 1},
		{"percentile_disc(0.5) " + ofYear, "patients", 0.5, true, years, 1},
		{"percentile_cont(0.5) " + ofYear, "patients", 0.5, false, years, 1},
		{"percentile_disc(0.05) " + ofYear, "patients", 0.05, false, years, 1},
		{"percentile_disc(0.05) WITHIN GROUP (ORDER BY birth_year DESC)", "patients", 0.95, false, years, 1},
		{"percentile_disc(0) " + ofYear, "patients", 0, false, years, 1},
		{"min(birth_year)", "patients", 0, false, years, 1},
		{"max(birth_year)", "patients", 1, false, years, 1},
		{"max(birth_year)", "patients", 1, true, years, 1},
		{"percentile_cont(0.5) " + ofCost, "visits", 0.5, false, costs, 0.01},
		{"min(cost)", "visits", 0, true, costs, 0.01},
	} {
		s := choiceSettings(tt.pure)
		s.Mechanism, s.EpsilonPico = "exponential", dp.PicoPerUnit/5
		b := chosenBlock(t, "SELECT dp.lower("+tt.call+"), dp.upper("+tt.call+") FROM "+tt.from, s)
		clips := plantest.NewExact(b.Sets[0]).Uncut()
		choices := b.Sets[0].Choices(clips)[0]
		for name, rows := range rowsOver(tt.shape.Buckets()) {
			t.Run(fmt.Sprintf("%s/%t/%s", tt.call, tt.pure, name), func(t *testing.T) {
				first, last := rowsBy(rows, tt.q)
				from, _ := tt.shape.Bucket(first)
				_, to := tt.shape.Bucket(last)
				src, missed := stattest.Source(t), 0
				for range intervalDraws {
					low, high := ends(t, b, drawn(t, src, choices, rows), clips)
					if low > float64(from)*tt.step || high < float64(to)*tt.step {
						missed++
					}
				}
				if missed > mostMissed() {
					t.Errorf("%d of %d intervals miss", missed, intervalDraws)
				}
			})
		}
	}
}

// fine has the buckets of values without groups.
func fine(t *testing.T, low, high int64) estimate.Shape {
	t.Helper()
	s, err := estimate.NewFineShape(low, high, 1<<14, 1<<14)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drawn chooses among rows by bucket.
func drawn(t *testing.T, src mechanisms.Source, choices planner.Choices, rows []int64) []int64 {
	t.Helper()
	weights := make([]mechanisms.Private, len(rows))
	for i, n := range rows {
		weights[i] = mechanisms.Protect(new(big.Int).Lsh(big.NewInt(n), choices.Count.Bits))
	}
	released := []int64{20_000}
	for _, of := range choices.Of {
		at, err := of.Choose(src, weights)
		if err != nil {
			t.Fatal(err)
		}
		released = append(released, int64(at))
	}
	return released
}

// ends are what the two outputs of a block show of a released row.
func ends(t *testing.T, b *planner.BlockPlan, row []int64, clips []planner.Clip) (low, high float64) {
	t.Helper()
	released := releasedOf(b.Sets[0], row...)
	released[0].Clips = clips
	columns := b.Columns(released)
	for i, to := range []*float64{&low, &high} {
		var err error
		if *to, err = strconv.ParseFloat(strings.Trim(columns[i], `{"}`), 64); err != nil {
			t.Fatal(err)
		}
	}
	return low, high
}

// TestChoicesAreCharged holds that each choice of a statement is in its event: a value and both ends, however many are shown.
func TestChoicesAreCharged(t *testing.T) {
	for _, pure := range []bool{false, true} {
		for _, sql := range []string{medianYear, quartiles, leastYear, medianCost, commonSex, "SELECT min(cost), max(cost) FROM visits"} {
			s := choiceSettings(pure)
			s.Mechanism = "exponential"
			b := chosenBlock(t, sql, s)
			charged := map[string]int{}
			for _, e := range b.Event() {
				charged[dp.Exact(dp.ComposedEvent{e})]++
			}
			drawn := map[string]int{}
			for _, c := range b.Sets[0].Choices(plantest.NewExact(b.Sets[0]).Uncut()) {
				for _, of := range c.Of {
					drawn[dp.Exact(dp.ComposedEvent{of.Event()})]++
				}
			}
			for e, n := range drawn {
				if charged[e] < n {
					t.Errorf("%s, pure: %t: %d choices of %s are drawn, and %d charged", sql, pure, n, e, charged[e])
				}
			}
		}
	}
}
