package release

import (
	"math"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/internal/stattest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
)

// most people are in groups of two wards and two sexes. Levels are of the norms in all grouping sets.
var most = []people{
	{levels: []int{0}, units: 3000, sum: 900},
	{levels: []int{3}, units: 40, sum: 150, directions: 38_000},
	{levels: []int{6}, units: 30, sum: 340, directions: 29_000},
	{levels: []int{8}, units: 20, sum: 440, directions: 19_500},
	{levels: []int{10}, units: 6, sum: 270, directions: 5_800},
}

// rollUp plans a statement with totals at ρ = 1/2, and reads people into its only group that has any.
func rollUp(t *testing.T) (*planner.BlockPlan, []*reader.Exact) {
	t.Helper()
	const sql = "SELECT ward, sex, count(*) FROM visits v JOIN people p ON p.id = v.person GROUP BY ROLLUP (1, 2)"
	b := plantest.Block(t, sql, planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "gaussian", Alpha: 0.05, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
	var exacts []*reader.Exact
	for _, set := range b.Sets {
		if set.Totals() == nil {
			exacts = append(exacts, collected(t, set, 0, []string{"1", "1"}, most...))
			continue
		}
		if len(set.Reads) > 0 {
			t.Fatalf("a set of totals has %d reads", len(set.Reads))
		}
		exacts = append(exacts, collected(t, set, 0, nil))
	}
	reader.AddUp(exacts)
	return b, exacts
}

// ofRollUp returns the law of a statement with totals: one choice and one tail for the budget of all sets, two thirds of
// the rest for the finest set, and the last for the two others. Noise is that of so many times the limit.
func ofRollUp(set *planner.GroupingSet, finest bool, times float64) oracle {
	const (
		rho, groups = 0.5, 4
		release     = rho * 8 / 10
	)
	o := newOracle(set, most)
	epsilon := math.Sqrt(8 * rho / 10)
	penalty := math.Ceil(3*math.Log(math.Sqrt2)/epsilon + 0.6*math.Sqrt(groups)/math.Sqrt(2*release*2/3))
	total := 0.0
	for j := range o.chances {
		o.chances[j] = math.Exp(-epsilon * (o.above[j] + penalty*float64(j)))
		total += o.chances[j]
	}
	for j := range o.chances {
		o.chances[j] /= total
	}
	part := release * 2 / 3
	if !finest {
		part = release / 6
	}
	o.noise = func(level int) float64 {
		return times * set.Measures[0].Norms[0].Grid.Limit(level) / math.Sqrt(2*part)
	}
	return o
}

// TestLawOfTotals draws statements with totals. One limit is drawn for all grouping sets, and the groups and totals
// have the laws of the specification at it: the noise of r times the limit, r² the nearest integer to
// the cube root of the square of how many groups of the finest set there are for one, 4 and 2. Laws of another r, of another
// part of the budget, and of a total in which units count in full are rejected.
func TestLawOfTotals(t *testing.T) {
	b, exacts := rollUp(t)
	src := stattest.Source(t)
	finest := slices.IndexFunc(b.Sets, func(g *planner.GroupingSet) bool { return g.Totals() == nil })
	statement := func() []*planner.Released {
		r := New(&planner.Plan{Blocks: []*planner.BlockPlan{b}}, func(int) []*Set { return nil }, nil, src)
		if err := r.Begin([][]*reader.Exact{exacts}); err != nil {
			t.Fatal(err)
		}
		return r.Released(0)
	}
	levels, above, answers := []int64(nil), []int64(nil), make([][]int64, len(b.Sets))
	for range 4000 {
		all := statement()
		drawn := all[finest].Clips[0]
		levels, above = append(levels, int64(drawn.Levels[0])), append(above, drawn.Tail[3].Int64())
		for at := range all {
			if !sameClip(all[at].Clips[0], drawn) {
				t.Fatalf("a set has the limit %v, the finest one %v", all[at].Clips[0], drawn)
			}
			answers[at] = append(answers[at], all[at].Rows[0][0].Int64())
		}
	}
	law := ofRollUp(b.Sets[finest], true, 1)
	if p := stattest.Fit(levels, law.levels); p < stattest.Level {
		t.Errorf("the limit has another law: p = %g", p)
	}
	if p := stattest.Fit(above, law.beyond); p < stattest.Level {
		t.Errorf("the number of people above the limit has another law: p = %g", p)
	}
	for at, set := range b.Sets {
		r := math.Sqrt(map[int]float64{0: 3, 1: 2, 2: 1}[set.Keys()])
		right, inFull := ofRollUp(set, at == finest, r), ofRollUp(set, at == finest, r)
		for j := range inFull.answers {
			inFull.answers[j] = 900 + 150 + 340 + 440 + 270
		}
		if p := stattest.Fit(answers[at], right.overall(0)); p < stattest.Level {
			t.Errorf("with %d keys the answer has another law: p = %g", set.Keys(), p)
		}
		for name, wrong := range map[string]oracle{
			"a larger r": ofRollUp(set, at == finest, r*1.4), "a smaller r": ofRollUp(set, at == finest, r*0.75),
			"another part of the budget": ofRollUp(set, at != finest, r), "units in full": inFull,
		} {
			if p := stattest.Fit(answers[at], wrong.overall(0)); p >= stattest.Level {
				t.Errorf("with %d keys the answer has the law of %s, p = %g: the test cannot fail", set.Keys(), name, p)
			}
		}
	}
}

// TestPriceOfTotals holds that all sets together are paid at one price whatever limit comes out.
func TestPriceOfTotals(t *testing.T) {
	b, _ := rollUp(t)
	var paid dp.ComposedEvent
	for _, set := range b.Sets {
		paid = append(paid, set.Releases()...)
	}
	price := priced(t, paid)
	if most := int64(dp.PicoPerUnit / 2); price > most || price < most*99/100 {
		t.Errorf("%d is paid of %d", price, most)
	}
	norm := b.Sets[0].Measures[0].Norms[0]
	for level := range norm.Choices {
		var drawn dp.ComposedEvent
		for _, set := range b.Sets {
			drawn = append(drawn, drawnAt(set, []planner.Clip{{Levels: []int{level}}})...)
		}
		if n := priced(t, drawn); n > price || level > 6 && n < price*97/100 {
			t.Errorf("at limit %d %d is released, and %d is paid", level, n, price)
		}
	}
}
