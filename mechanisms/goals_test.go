package mechanisms_test

import (
	"math"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// goal is a goal by its function.
type goal func(estimates [][]mechanisms.Estimate) [][]mechanisms.Target

func (g goal) Targets(estimates [][]mechanisms.Estimate) [][]mechanisms.Target { return g(estimates) }

// A boundary bounds an error by the estimate's standard deviation.
type boundary interface{ HalfWidth(sigma float64) float64 }

// sigmas is the boundary of so many standard deviations at every look. It is
// honest nowhere; it makes strategies comparable.
type sigmas float64

func (s sigmas) HalfWidth(sigma float64) float64 { return float64(s) * sigma }

// A rule is how large the error of an estimate may be at most.
type rule func(y float64) float64

// within10 is a relative error of 10 %: an error of r·|y|/(1+r) is at most r of the truth.
func within10(y float64) float64 { return relative * math.Abs(y) / (1 + relative) }

// absolute is an error of at most c.
func absolute(c float64) rule { return func(float64) float64 { return c } }

// met reports whether an estimate has at most the error of a rule.
func met(within boundary, r rule, e mechanisms.Estimate) bool {
	return within.HalfWidth(e.Sigma) <= r(value(e))
}

// widest returns the largest sigma whose half-width is at most c.
func widest(within boundary, c float64) float64 {
	low, high := 1e-60, 1e60
	for range 64 {
		if mid := math.Sqrt(low) * math.Sqrt(high); within.HalfWidth(mid) <= c {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// open returns the coordinates of a chain that have not met a rule, as targets.
func open(within boundary, r rule, estimates []mechanisms.Estimate, variance func(e mechanisms.Estimate) float64) []mechanisms.Target {
	var targets []mechanisms.Target
	for i, e := range estimates {
		if !met(within, r, e) {
			targets = append(targets, mechanisms.Target{Coordinate: i, Variance: variance(e)})
		}
	}
	return targets
}

// leap is the goal of few rounds: each coordinate goes straight to where its estimate would meet
// the rule, and a bit further.
func leap(within boundary, r rule) mechanisms.Goal {
	return each(func(estimates []mechanisms.Estimate) []mechanisms.Target {
		return open(within, r, estimates, func(e mechanisms.Estimate) float64 {
			need := widest(within, r(value(e)))
			return math.Min(need*need/1.15, e.Sigma*e.Sigma/1.19)
		})
	})
}

// climb is the goal of many rounds: each coordinate that has not met the rule goes to the next of
// several prices, which are those of one coordinate that is alone. Prices that are had are left out.
func climb(t testing.TB, firstPico, lastPico int64, ratio float64, within boundary, r rule) mechanisms.Goal {
	t.Helper()
	levels, err := mechanisms.GeometricLevels(firstPico, lastPico, ratio)
	if err != nil {
		t.Fatal(err)
	}
	return each(func(estimates []mechanisms.Estimate) []mechanisms.Target {
		for len(levels) > 1 {
			levels = levels[1:]
			variance := dp.PicoPerUnit / (2 * float64(levels[0]))
			targets := open(within, r, estimates, func(mechanisms.Estimate) float64 { return variance })
			if slices.ContainsFunc(targets,
				func(to mechanisms.Target) bool { return estimates[to.Coordinate].Sigma > 1.01*math.Sqrt(variance) }) {
				return targets
			}
		}
		return nil
	})
}

// each is the goal that asks for the same of each chain, whatever the others are.
func each(targets func([]mechanisms.Estimate) []mechanisms.Target) mechanisms.Goal {
	return goal(func(estimates [][]mechanisms.Estimate) [][]mechanisms.Target {
		var all [][]mechanisms.Target
		for _, chain := range estimates {
			all = append(all, targets(chain))
		}
		return all
	})
}

// variances is the goal that all coordinates of all chains come to these variances, in turn.
func variances(in ...float64) mechanisms.Goal {
	return goal(func(estimates [][]mechanisms.Estimate) [][]mechanisms.Target {
		if len(in) == 0 {
			return nil
		}
		all := make([][]mechanisms.Target, len(estimates))
		for m, chain := range estimates {
			for i := range chain {
				all[m] = append(all[m], mechanisms.Target{Coordinate: i, Variance: in[0]})
			}
		}
		in = in[1:]
		return all
	})
}

// refinement returns one of chains of these sensitivities.
func refinement(
	t testing.TB, g mechanisms.Goal, pool mechanisms.Pool, known [][][]mechanisms.Measurement, chains ...dp.Sensitivity,
) *mechanisms.Refinement {
	t.Helper()
	r, err := mechanisms.NewRefinement(g, chains, pool, known)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// finish refines exact values to the end, as the documentation says, and returns the events that
// it charges.
func finish(t testing.TB, r *mechanisms.Refinement, src mechanisms.Source, exact ...[]mechanisms.Private) []dp.ComposedEvent {
	t.Helper()
	charged := []dp.ComposedEvent{r.First()}
	round, err := r.Begin(exact)
	for {
		if err != nil {
			t.Fatal(err)
		}
		if err := round.Measure(src); err != nil {
			t.Fatal(err)
		}
		if round, err = r.Next(); err != nil {
			continue
		}
		event := round.Event()
		if len(event) == 0 {
			return charged
		}
		charged = append(charged, event)
	}
}

// total is the price of events.
func total(charged []dp.ComposedEvent) (pico int64) {
	for _, e := range slices.Concat(charged...) {
		pico += picos(e.(dp.RefinementEvent))
	}
	return pico
}
