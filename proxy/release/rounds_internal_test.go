package release

import (
	"math"
	"math/big"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
)

// chainPlan plans a count with a target.
func chainPlan(t *testing.T, sql string, change func(*planner.Settings)) *planner.GroupingSet {
	t.Helper()
	s := planner.Settings{
		EpsilonPico: 4 * dp.PicoPerUnit, TypicalPico: dp.PicoPerUnit / 10, Mechanism: "auto", Alpha: 0.05,
		Target: planner.Target{Relative: 0.1}, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	}
	change(&s)
	return plantest.GroupingSet(t, sql, s)
}

// exactly are partitions with these exact counts.
func exactly(counts ...int64) []*reader.Partition {
	out := make([]*reader.Partition, len(counts))
	for i, n := range counts {
		out[i] = &reader.Partition{Row: map[int]mechanisms.Private{0: mechanisms.Protect(big.NewInt(n))}}
	}
	return out
}

// transcript is all that a client sees of a chain.
type transcript struct {
	values []int64
	halves []float64
	sigmas []float64
	looks  int
	pico   int64
}

// A reducer is a method that reduces noise.
type reducer interface {
	method
	start(keys [][]*string, partitions []*reader.Partition) error
}

// lookOn runs the rounds of a grouping set over exact counts, as a Run does.
func lookOn(t *testing.T, l reducer, m dp.Measure, partitions []*reader.Partition) transcript {
	t.Helper()
	var tr transcript
	pay := func(e dp.ComposedEvent, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		loss, err := accountant.Price(e, m)
		if err != nil {
			t.Fatal(err)
		}
		tr.pico += loss.Pico()
		tr.looks++
	}
	pay(l.first())
	if err := l.start(nil, partitions); err != nil {
		t.Fatal(err)
	}
	for {
		e, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		if len(e) == 0 {
			break
		}
		pay(e, nil)
		if err := l.draw(); err != nil {
			t.Fatal(err)
		}
	}
	r := l.released()
	for i, row := range r.Rows {
		tr.values = append(tr.values, row[0].Int64())
		tr.halves = append(tr.halves, r.Margins[i][0].Half)
		tr.sigmas = append(tr.sigmas, r.Margins[i][0].Sigma)
	}
	return tr
}

// kept returns all that is known after a method.
func kept(l method) *Set {
	var s Set
	l.keep(&s)
	return &s
}

const oneCount = "SELECT count(*) FROM people"

// TestCoverage holds that the interval at the look where a chain stops is as confident as it
// says, for small and for large counts, and that the quantile of one look is not.
func TestCoverage(t *testing.T) {
	const runs = 2000
	src := stattest.Source(t)
	worst := 0
	for _, pure := range []bool{false, true} {
		set := chainPlan(t, oneCount, func(s *planner.Settings) { s.Pure = pure })
		for _, truth := range []int64{20, 35, 50, 100, 200, 500, 3000, 10_000} {
			missed, naive, met, wrong, looks, pico := 0, 0, 0, 0, 0, int64(0)
			for range runs {
				var l reducer = newBrownian(set, nil, src)
				measure := dp.ZCDP
				if pure {
					measure, l = dp.PureDP, newReduction(set, src)
				}
				tr := lookOn(t, l, measure, exactly(truth))
				off := math.Abs(float64(tr.values[0] - truth))
				missed += truthIf(off > tr.halves[0])
				naive += truthIf(off > 1.96*tr.sigmas[0])
				reached := len(set.Reduction.Open(l.released())) == 0
				met += truthIf(reached)
				wrong += truthIf(reached && off > 0.1*float64(truth))
				looks, pico = looks+tr.looks, pico+tr.pico
			}
			worst = max(worst, naive)
			// Five standard deviations above 5 % of 2000 are 149.
			if missed > 149 || wrong > 149 {
				t.Errorf("%s, %d: the interval misses in %d of %d runs, the target in %d", set.Reduction.Mechanism, truth,
					missed, runs, wrong)
			}
			t.Logf("%-17s true value %6d: covered %6.2f %%, target said to be reached %6.2f %%, wrongly %.2f %%, %4.1f looks, "+
				"mean price %.3g; 1.96 sigma covers %.2f %%",
				set.Reduction.Mechanism, truth, 100-100*float64(missed)/runs, 100*float64(met)/runs,
				100*float64(wrong)/runs, float64(looks)/runs, float64(pico)/runs/dp.PicoPerUnit, 100-100*float64(naive)/runs)
		}
	}
	if worst <= 149 {
		t.Error("the quantile of one look would do: the test sees nothing")
	}
}

func truthIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestPrice holds that a chain costs what its last precision costs, up to the rounding of
// each look, and never more than its pool.
func TestPrice(t *testing.T) {
	src := stattest.Source(t)
	set := chainPlan(t, oneCount, func(*planner.Settings) {})
	for range 200 {
		tr := lookOn(t, newBrownian(set, nil, src), dp.ZCDP, exactly(300))
		last := dp.PicoPerUnit / (2 * tr.sigmas[0] * tr.sigmas[0])
		if diff := float64(tr.pico) - last; diff < -1 || diff > float64(tr.looks)+last*1e-9 {
			t.Fatalf("%d looks cost %d, the last precision %.1f", tr.looks, tr.pico, last)
		}
		if tr.pico > set.Reduction.PoolPico {
			t.Fatalf("it costs %d of %d", tr.pico, set.Reduction.PoolPico)
		}
	}
	empty := lookOn(t, newBrownian(set, nil, src), dp.ZCDP, exactly(0))
	if pool := set.Reduction.PoolPico; empty.pico > pool || empty.pico < pool/100*99 {
		t.Errorf("what is never reached costs %d of %d", empty.pico, pool)
	}
}

// TestRefinedPrice holds that a chain that goes on from an earlier one costs, in both reads
// together, what its last precision costs: without groups, where no unit can have moved.
func TestRefinedPrice(t *testing.T) {
	src := stattest.Source(t)
	coarse := chainPlan(t, oneCount, func(s *planner.Settings) { s.Target.Relative = 0.3 })
	fine := chainPlan(t, oneCount, func(s *planner.Settings) { s.Target.Relative = 0.05 })
	for range 100 {
		l := newBrownian(coarse, nil, src)
		first := lookOn(t, l, dp.ZCDP, exactly(500))
		again := newBrownian(fine, kept(l), src)
		second := lookOn(t, again, dp.ZCDP, exactly(500))
		last := dp.PicoPerUnit / (2 * second.sigmas[0] * second.sigmas[0])
		if diff := float64(first.pico+second.pico) - last; diff < -1 || diff > float64(first.looks+second.looks)+last*1e-9 {
			t.Fatalf("%d and %d, the last precision %.1f", first.pico, second.pico, last)
		}
	}
}

// TestRefinedGroupsPrice holds that each read of groups is paid for by itself: a unit that
// has moved to another group between two reads loses in both.
func TestRefinedGroupsPrice(t *testing.T) {
	const groups = "SELECT sex, count(*) FROM people GROUP BY sex"
	src := stattest.Source(t)
	coarse := chainPlan(t, groups, func(s *planner.Settings) { s.Target.Relative = 0.3 })
	fine := chainPlan(t, groups, func(s *planner.Settings) { s.Target.Relative = 0.05 })
	l := newBrownian(coarse, nil, src)
	first := lookOn(t, l, dp.ZCDP, exactly(100, 5000))
	again := newBrownian(fine, kept(l), src)
	second := lookOn(t, again, dp.ZCDP, exactly(5000, 100))
	// The precision that each read has given to each group.
	before, all := kept(l).Measured, kept(again).Measured
	lost := func(measured []mechanisms.Measurement) (pico float64) {
		for _, m := range measured {
			v, _ := new(big.Float).SetInt(m.Variance).Float64()
			pico += dp.PicoPerUnit / (2 * v)
		}
		return pico
	}
	for from := range 2 {
		for to := range 2 {
			loss := lost(before[from][0]) + lost(all[to][0][len(before[to][0]):])
			if float64(first.pico+second.pico) < loss*(1-1e-9) {
				t.Errorf("a unit that moves from group %d to %d loses %.0f, and %d was paid", from, to, loss, first.pico+second.pico)
			}
		}
	}
	t.Logf("paid %d and %d", first.pico, second.pico)
}

// TestNeighbours compares whole transcripts, values, looks and prices, on two databases that
// differ in one unit. With a hundredth of the noise it fails.
func TestNeighbours(t *testing.T) {
	const runs = 4000
	src := stattest.Source(t)
	set := chainPlan(t, oneCount, func(s *planner.Settings) {
		s.EpsilonPico, s.Target.Relative = dp.PicoPerUnit/2, 0.5
	})
	// For ρ-zCDP the total variation is at most √(ρ/2), by Pinsker's inequality.
	bound := math.Sqrt(float64(set.Reduction.PoolPico) / dp.PicoPerUnit / 2)
	distance := func(with, without int64) float64 {
		seen := map[[2]int]float64{}
		for sign, truth := range map[float64]int64{1: with, -1: without} {
			for range runs {
				tr := lookOn(t, newBrownian(set, nil, src), dp.ZCDP, exactly(truth))
				seen[[2]int{int(tr.values[0]) / 4, int(tr.pico) * 4 / int(set.Reduction.PoolPico)}] += sign / runs
			}
		}
		sum := 0.0
		for _, d := range seen {
			sum += math.Abs(d) / 2
		}
		return sum
	}
	// The part of sampling, about √(bins/runs), is measured on equal databases.
	sampling := distance(20, 20)
	if d := distance(20, 19); d > bound+2*sampling {
		t.Errorf("the transcripts differ by %.3f, the budget allows %.3f", d, bound)
	} else {
		t.Logf("the transcripts differ by %.3f, of which sampling is %.3f; the budget allows %.3f", d, sampling, bound)
	}
	if d := distance(20, 10); d < bound+2*sampling {
		t.Errorf("ten units differ by %.3f: the test sees nothing", d)
	}
}
