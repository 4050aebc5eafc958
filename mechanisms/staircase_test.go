package mechanisms_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func staircase(t testing.TB, delta, step, epsilonPico int64) mechanisms.Staircase {
	t.Helper()
	m, err := mechanisms.NewStaircase(dp.Sensitivity{L0: 1, LInf: delta}, step, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestStaircaseHasItsLaw(t *testing.T) {
	const unit = dp.PicoPerUnit
	for _, tt := range []struct{ delta, step, epsilonPico int64 }{
		{1, 1, unit}, {5, 2, unit}, {5, 5, unit / 10}, {7, 1, 3*unit + 1}, {100, 21, unit}, {100, 21, 5 * unit}, {3, 2, unit / 1000},
	} {
		m, e := staircase(t, tt.delta, tt.step, tt.epsilonPico), float64(tt.epsilonPico)/unit
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			twin := stattest.Staircase(tt.delta, tt.step, e*wrong)
			check(t, int64s(t, m.Sample, seeded(t)), stattest.Staircase(tt.delta, tt.step, e), twin)
		})
	}
	m := staircase(t, 100, 21, unit)
	if p := stattest.Fit(stattest.Draw(n, int64s(t, m.Sample, seeded(t))), stattest.Staircase(100, 23, 1)); p >= stattest.Level {
		t.Errorf("another step is accepted with p = %g", p)
	}
}

// TestStaircaseIsPrivate compares the law with itself moved by all that a unit can do.
func TestStaircaseIsPrivate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delta := rapid.Int64Range(1, 12).Draw(t, "delta")
		step := rapid.Int64Range(1, delta).Draw(t, "step")
		epsilon := rapid.Float64Range(0.01, 5).Draw(t, "epsilon")
		law, most := stattest.Staircase(delta, step, epsilon), 0.0
		for d := -delta; d <= delta; d++ {
			for n := -5 * delta; n <= 5*delta; n++ {
				most = math.Max(most, math.Log(law(n)/law(n+d)))
			}
		}
		if most > epsilon*(1+1e-9) || most < epsilon*(1-1e-9) {
			t.Fatalf("the loss is %v, want %v", most, epsilon)
		}
	})
}

// TestStaircaseOdds has the odds of papers: P(|n| ≤ θ) at ε, by the law and by Quantile.
func TestStaircaseOdds(t *testing.T) {
	for _, tt := range []struct {
		delta, theta int64
		epsilon      float64
		want         float64
	}{
		{5, 1, 1, .3401},
		{5, 1, 3, .8513},
		{100, 20, 1, .2605},
		{100, 20, 3, .7964},
		{100, 50, 3, .9060},
		{100, 150, 1, .8030},
		{100, 350, 1, .9733},
		{1, 0, 1, math.Tanh(0.5)},
	} {
		s := dp.Sensitivity{L0: 1, LInf: tt.delta}
		m, err := mechanisms.StaircaseWithin(s, tt.theta, 1-tt.want)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := m.Event().(dp.StaircaseEvent).Epsilon.Float64()
		if math.Abs(got-tt.epsilon) > 2e-3 {
			t.Errorf("Δ=%d θ=%d: ε = %v reaches %v, want %v", tt.delta, tt.theta, got, tt.want, tt.epsilon)
		}
		inside, law := 0.0, stattest.Staircase(tt.delta, (tt.theta%tt.delta)+1, got)
		for n := -tt.theta; n <= tt.theta; n++ {
			inside += law(n)
		}
		if inside < tt.want || inside > tt.want+1e-9 {
			t.Errorf("Δ=%d θ=%d: P = %v, want just above %v", tt.delta, tt.theta, inside, tt.want)
		}
		if c := m.Quantile(1 - tt.want); c != float64(tt.theta) {
			t.Errorf("Δ=%d θ=%d: the quantile is %v", tt.delta, tt.theta, c)
		}
	}
}

// TestStaircaseStepIsTheBest tries all steps.
func TestStaircaseStepIsTheBest(t *testing.T) {
	for _, delta := range []int64{1, 4, 7} {
		for theta := range 3 * delta {
			best, err := mechanisms.StaircaseWithin(dp.Sensitivity{L0: 1, LInf: delta}, theta, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			epsilon, _ := best.Event().(dp.StaircaseEvent).Epsilon.Float64()
			for step := int64(1); step <= delta; step++ {
				inside, law := 0.0, stattest.Staircase(delta, step, epsilon*(1-1e-6))
				for n := -theta; n <= theta; n++ {
					inside += law(n)
				}
				if inside >= 0.95 {
					t.Errorf("Δ=%d θ=%d: the step %d is better than that of %v", delta, theta, step, best)
				}
			}
		}
	}
}

func TestStaircaseMoments(t *testing.T) {
	identity := func(n int64) float64 { return float64(n) }
	for _, tt := range []struct {
		delta, step int64
		epsilon     float64
	}{{1, 1, 1}, {5, 2, 1}, {5, 5, 0.5}, {100, 21, 3}} {
		m, law := staircase(t, tt.delta, tt.step, int64(tt.epsilon*dp.PicoPerUnit)), stattest.Staircase(tt.delta, tt.step, tt.epsilon)
		_, variance := stattest.Moments(identity, law)
		if got, want := m.StdDev(), math.Sqrt(variance); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%v: the standard deviation is %v, want %v", m, got, want)
		}
		for _, alpha := range []float64{0.999, 0.5, 0.05, 0.01, 1e-6} {
			if got, want := m.Quantile(alpha), smallest(law, alpha); got != want {
				t.Errorf("%v at %v: %v, want %v", m, alpha, got, want)
			}
		}
	}
}

// TestStaircaseOfAnySize draws at the ends of what a plan can ask for, in about the same time.
func TestStaircaseOfAnySize(t *testing.T) {
	for _, tt := range []struct{ delta, step, epsilonPico int64 }{
		{math.MaxInt64, 1, 40 * dp.PicoPerUnit}, {math.MaxInt64, math.MaxInt64, 1}, {1, 1, dp.MaxPico}, {1 << 40, 1, 1},
	} {
		m, src, z := staircase(t, tt.delta, tt.step, tt.epsilonPico), seeded(t), new(big.Int)
		half := m.Quantile(0.5)
		within := 0
		for range 1000 {
			f, _ := new(big.Float).SetInt(m.Sample(z, src)).Float64()
			if math.Abs(f) <= half {
				within++
			}
		}
		if math.IsInf(half, 0) || math.IsNaN(m.StdDev()) || within < 400 {
			t.Errorf("%v: %d of 1000 are within %v; the standard deviation is %v", m, within, half, m.StdDev())
		}
	}
}

func TestStaircaseEvent(t *testing.T) {
	m := staircase(t, 5, 2, dp.PicoPerUnit/2)
	e, _ := m.Event().(dp.StaircaseEvent)
	if got := fmt.Sprint(m, "; ", e); got != "staircase epsilon=0.5 step=2 of 5; staircase l0=1 linf=5 epsilon=0.5 step=2" {
		t.Error(got)
	}
	e.Epsilon.SetInt64(7)
	if again, _ := m.Event().(dp.StaircaseEvent); again.Epsilon.Cmp(big.NewRat(1, 2)) != 0 {
		t.Error("who changes the event changes the mechanism")
	}
}

func TestStaircaseRefuses(t *testing.T) {
	five := dp.Sensitivity{L0: 1, LInf: 5}
	for name, build := range map[string]func() (mechanisms.Staircase, error){
		"no sensitivity":     func() (mechanisms.Staircase, error) { return mechanisms.NewStaircase(dp.Sensitivity{}, 1, 1) },
		"step 0":             func() (mechanisms.Staircase, error) { return mechanisms.NewStaircase(five, 0, 1) },
		"step above Δ":       func() (mechanisms.Staircase, error) { return mechanisms.NewStaircase(five, 6, 1) },
		"no epsilon":         func() (mechanisms.Staircase, error) { return mechanisms.NewStaircase(five, 1, 0) },
		"epsilon too large":  func() (mechanisms.Staircase, error) { return mechanisms.NewStaircase(five, 1, dp.MaxPico+1) },
		"negative boundary":  func() (mechanisms.Staircase, error) { return mechanisms.StaircaseWithin(five, -1, 0.05) },
		"boundary too large": func() (mechanisms.Staircase, error) { return mechanisms.StaircaseWithin(five, math.MaxInt64, 0.05) },
		"no tail":            func() (mechanisms.Staircase, error) { return mechanisms.StaircaseWithin(five, 1, 0) },
		"all tail":           func() (mechanisms.Staircase, error) { return mechanisms.StaircaseWithin(five, 1, 1) },
		"not a tail":         func() (mechanisms.Staircase, error) { return mechanisms.StaircaseWithin(five, 1, math.NaN()) },
		"within nothing":     func() (mechanisms.Staircase, error) { return mechanisms.StaircaseWithin(dp.Sensitivity{}, 1, 0.05) },
	} {
		if _, err := build(); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
