package mechanisms_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// The counts that an analyst asks for under one budget: lognormal, with a median of
// 1000, each to a relative error of 10 % at 2.6 standard deviations.
const (
	medianCount = 1000
	spreadLog   = 1.0
	relative    = 0.1
	deviations  = 2.6
	countCap    = 4_000_000_000 // ρ = 0.004
	countFirst  = 2_000_000     // ρ = 2·10⁻⁶
)

// An outcome says of one count whether it was answered, at which cost in picos,
// and in how many looks.
type outcome struct {
	met   bool
	value float64
	price int64
	looks int
}

// A strategy answers one count, at a price that is known only afterwards. It asks
// while the budget has room for the most that it may cost.
type strategy struct {
	hold   int64
	answer func(src mechanisms.Source, count int64) outcome
}

// brownian is the strategy of a chain with a goal.
func brownian(t testing.TB, to func(within boundary) mechanisms.Goal) strategy {
	return strategy{hold: countCap, answer: func(src mechanisms.Source, count int64) outcome {
		r := refinement(t, to(sigmas(deviations)), mechanisms.Pool{Pico: countCap, PilotPico: countFirst}, nil, one)
		charged := finish(t, r, src, exactly(count))
		e := r.Estimates()[0][0]
		return outcome{met: met(sigmas(deviations), within10, e), value: value(e), price: total(charged), looks: len(charged)}
	}}
}

// by climbs from the first look to the last by a ratio.
func by(t testing.TB, ratio float64) func(boundary) mechanisms.Goal {
	return func(within boundary) mechanisms.Goal { return climb(t, countFirst, countCap, ratio, within, within10) }
}

// A tally has the sums of a strategy.
type tally struct{ answered, precise, looks, asked float64 }

// spend answers counts while the budget can hold one.
func (total *tally) spend(src *rand.ChaCha8, counts *rand.Rand, how strategy, budget int64) {
	for budget >= how.hold {
		count := int64(math.Round(medianCount * math.Exp(spreadLog*counts.NormFloat64())))
		o := how.answer(src, count)
		budget -= o.price
		total.asked++
		total.looks += float64(o.looks)
		if o.met {
			total.answered++
			if math.Abs(o.value-float64(count)) <= relative*float64(count) {
				total.precise++
			}
		}
	}
}

// TestCountsUnderOneBudget counts the answers that one budget pays for. Looking
// again costs a chain nothing, while the baseline, which throws away its earlier
// looks, pays c/(c−1) times for the last look. At ε = 1 that is less than half as
// many counts; with larger budgets, close to half. All strategies are asked for the same counts, so that their ratios vary little.
func TestCountsUnderOneBudget(t *testing.T) {
	t.Parallel()
	src := stattest.Source(t)
	strategies := []struct {
		name string
		how  strategy
	}{
		{"doubling c=2", doubling(t, 2)},
		{"doubling c=4", doubling(t, 4)},
		{"brownian c=2", brownian(t, by(t, 2))},
		{"brownian c=1.19", brownian(t, by(t, 1.19))},
		{"adaptive jump", brownian(t, func(within boundary) mechanisms.Goal { return leap(within, within10) })},
	}
	for _, budget := range []struct {
		epsilon int
		pico    int64
		runs    int
		alike   float64 // least ratio at c = 2: more than five standard errors below the mean
		best    float64 // and of the best to the best
	}{{1, 24_356_000_000, 600, 2, 1.75}, {3, 185_070_000_000, 30, 1.6, 1.6}, {10, 1_539_280_000_000, 3, 1.5, 1.5}} {
		answered, seed := map[string]float64{}, src.Uint64()
		for _, s := range strategies {
			var sum tally
			for run := range uint64(budget.runs) {
				sum.spend(src, rand.New(rand.NewPCG(seed, run)), s.how, budget.pico)
			}
			answered[s.name] = sum.answered / float64(budget.runs)
			t.Logf("ε = %2d  %-16s answered %6.1f, precise %.3f, looks %.1f",
				budget.epsilon, s.name, answered[s.name], sum.precise/sum.answered, sum.looks/sum.asked)
		}
		alike := answered["brownian c=2"] / answered["doubling c=2"]
		chain := max(answered["brownian c=2"], answered["brownian c=1.19"], answered["adaptive jump"])
		doubled := chain / answered["doubling c=2"]
		best := chain / max(answered["doubling c=2"], answered["doubling c=4"])
		if alike < budget.alike || best < budget.best || doubled < 2 {
			t.Errorf("ε = %d: a chain answers too few counts", budget.epsilon)
		}
		t.Logf("ε = %2d  ratio at c=2 %.2f, of the best chain to doubling %.2f, to doubling and fourfolding %.2f",
			budget.epsilon, alike, doubled, best)
	}
}
