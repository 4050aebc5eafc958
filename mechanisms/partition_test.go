package mechanisms_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// A thresholdSelection is a GaussianSelection or a LaplaceSelection.
type thresholdSelection interface {
	Event() dp.Event
	Threshold() int64
	Keep(n int64) float64
	Select(src mechanisms.Source, units mechanisms.Private) (mechanisms.Released, bool)
	String() string
}

const atto = dp.AttoPerUnit

func gaussianSelection(t testing.TB, k, variance, deltaAtto int64) mechanisms.GaussianSelection {
	t.Helper()
	s, err := mechanisms.NewGaussianSelection(k, big.NewInt(variance), deltaAtto)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func laplaceSelection(t testing.TB, k int64, scale *big.Rat, deltaAtto int64) mechanisms.LaplaceSelection {
	t.Helper()
	s, err := mechanisms.NewLaplaceSelection(k, scale, deltaAtto)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// upperTail sums P(noise ≥ m), from the smallest probability on.
func upperTail(pmf func(int64) float64, m, far int64) float64 {
	sum := 0.0
	for n := far; n >= m; n-- {
		sum += pmf(n)
	}
	return sum
}

// TestThresholdIsTheLeast checks with tails summed from the exact law that no unit
// which is alone in k partitions is seen in any with a probability above δ, and
// that a threshold less by one would show it.
func TestThresholdIsTheLeast(t *testing.T) {
	type tried struct {
		s   thresholdSelection
		pmf func(int64) float64
		far int64
	}
	for _, k := range []int64{1, 2, 7, 1000} {
		for _, delta := range []int64{1, atto / 1e12, atto / 1e6, atto / 100, atto / 2, atto - atto/1000} {
			var all []tried
			for _, v := range []int64{1, 2, 25, 1000, 300_000} {
				all = append(all, tried{gaussianSelection(t, k, v, delta), stattest.Gaussian(float64(v)), int64(20*math.Sqrt(float64(v))) + 10})
			}
			for _, scale := range []*big.Rat{big.NewRat(1, 7), big.NewRat(1, 1), big.NewRat(10, 3), big.NewRat(5000, 1)} {
				f, _ := scale.Float64()
				all = append(all, tried{laplaceSelection(t, k, scale, delta), stattest.Laplace(f), int64(80*f) + 100})
			}
			for _, c := range all {
				anyOf := func(tail float64) float64 { return -math.Expm1(float64(k) * math.Log1p(-tail)) }
				limit, threshold := float64(delta)/atto, c.s.Threshold()
				tail := upperTail(c.pmf, threshold-1, c.far)
				if seen := anyOf(tail); seen > limit*(1+1e-12) {
					t.Errorf("%v, k = %d: a unit alone is seen with probability %v, above δ = %v", c.s, k, seen, limit)
				}
				if seen := anyOf(upperTail(c.pmf, threshold-2, c.far)); seen <= limit*(1-1e-9) && threshold > 1 {
					t.Errorf("%v, k = %d: threshold %d would do at δ = %v", c.s, k, threshold-1, limit)
				}
				for _, n := range []int64{1, 2, threshold, threshold + 1, 3*threshold + 5} {
					if got, want := c.s.Keep(n), upperTail(c.pmf, threshold-n, c.far); !closeTo(got, want, 1e-9) {
						t.Errorf("%v: Keep(%d) = %v, want %v", c.s, n, got, want)
					}
				}
			}
		}
	}
}

func TestKeepAtItsEnds(t *testing.T) {
	for _, s := range []interface{ Keep(n int64) float64 }{
		gaussianSelection(t, 3, 25, atto/1e6), gaussianSelection(t, 1, 1<<60, 1),
		laplaceSelection(t, 3, big.NewRat(5, 1), atto/1e6), laplaceSelection(t, 1, big.NewRat(1, 1<<62), 1),
		optimalSelection(t, 3, big.NewRat(1, 3), big.NewRat(1, 1e9)), optimalSelection(t, 1, big.NewRat(9999, 1), big.NewRat(1, 1e18)),
	} {
		if s.Keep(0) != 0 || s.Keep(-1) != 0 || s.Keep(math.MinInt64) != 0 {
			t.Errorf("%v keeps an empty partition", s)
		}
		if got := s.Keep(math.MaxInt64); got != 1 {
			t.Errorf("%v keeps all of the world with probability %v", s, got)
		}
	}
}

// TestSelectionHasItsLaw tests the joint law of what a selection tells: nothing, or
// the noisy number of units. Nothing counts as one below what can be told.
func TestSelectionHasItsLaw(t *testing.T) {
	tests := []struct {
		s         thresholdSelection
		pmf, twin func(int64) float64
	}{
		{gaussianSelection(t, 4, 25, atto/1e6), stattest.Gaussian(25), stattest.Gaussian(25 * wrong * wrong)},
		{laplaceSelection(t, 2, big.NewRat(10, 3), atto/1e6), stattest.Laplace(10.0 / 3), stattest.Laplace(wrong * 10 / 3)},
	}
	for _, tt := range tests {
		for _, below := range []int64{5, 0, -5} {
			units := tt.s.Threshold() - below
			t.Run(fmt.Sprintf("%v/%d", tt.s, units), func(t *testing.T) {
				t.Parallel()
				src, private := seeded(t), mechanisms.Protect(big.NewInt(units))
				draw := func() int64 {
					noisy, kept := tt.s.Select(src, private)
					if !kept {
						if noisy.Int().Sign() != 0 {
							t.Fatal("a number of a partition that was not kept")
						}
						return below - 1
					}
					return noisy.Int().Int64() - units
				}
				law := func(pmf func(int64) float64) func(int64) float64 {
					none := 1 - upperTail(pmf, below, 200)
					return func(n int64) float64 {
						switch {
						case n >= below:
							return pmf(n)
						case n == below-1:
							return none
						}
						return 0
					}
				}
				check(t, draw, law(tt.pmf), law(tt.twin))
			})
		}
	}
}

// TestSelectionOfNeighbours compares all that one partition tells when its units
// are n and n+1: for n ≥ 1 no worse than the noise alone, and for n = 0, where it
// is not tried at all, the probability of telling anything.
func TestSelectionOfNeighbours(t *testing.T) {
	const epsilon = 0.7
	g, l := gaussianSelection(t, 1, 9, atto/1e4), laplaceSelection(t, 1, big.NewRat(10, 7), atto/1e4)
	tests := []struct {
		s     thresholdSelection
		pmf   func(int64) float64
		delta float64
	}{
		{g, stattest.Gaussian(9), gaussian(t, 9).Delta(epsilon)},
		{l, stattest.Laplace(10.0 / 7), 1e-15},
	}
	for _, tt := range tests {
		told := func(n, out int64) float64 { // out below the threshold stands for nothing
			if out >= tt.s.Threshold() {
				return tt.pmf(out - n)
			}
			return 1 - tt.s.Keep(n)
		}
		if tt.s.Keep(1) > 1e-4 {
			t.Errorf("%v: one unit is seen with probability %v", tt.s, tt.s.Keep(1))
		}
		for n := int64(1); n < 60; n++ {
			up, down := 0.0, 0.0
			for out := tt.s.Threshold() - 1; out < 300; out++ {
				up += math.Max(0, told(n, out)-math.Exp(epsilon)*told(n+1, out))
				down += math.Max(0, told(n+1, out)-math.Exp(epsilon)*told(n, out))
			}
			if up > tt.delta*(1+1e-9) || down > tt.delta*(1+1e-9) {
				t.Errorf("%v: %d and %d units differ by δ = %v, %v at ε = %v, the noise by %v", tt.s, n, n+1, up, down, epsilon, tt.delta)
			}
		}
	}
}

// TestBudgetedSelections checks for any budget that the price keeps to it.
func TestBudgetedSelections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.Int64Range(1, 1<<rapid.IntRange(0, 40).Draw(t, "k bits")).Draw(t, "k")
		pico := rapid.Int64Range(1, 1<<rapid.IntRange(0, 53).Draw(t, "pico bits")).Draw(t, "pico")
		delta := rapid.Int64Range(1, atto-1).Draw(t, "delta")

		g, err := mechanisms.GaussianSelectionFor(k, pico, delta)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := accountant.Price(g.Event(), dp.ZCDP); err != nil || got.Pico() > pico || got.Atto() != delta {
			t.Fatalf("%v: price %v, %v, for %d and %d", g, got, err, pico, delta)
		}
		l, err := mechanisms.LaplaceSelectionFor(k, pico, delta)
		if err != nil {
			if !errors.Is(err, mechanisms.ErrParameter) {
				t.Fatal(err)
			}
			return // the threshold is beyond 2⁶²
		}
		e := l.Event().(dp.ApproximateEvent).Of
		if got, err := accountant.Price(e, dp.PureDP); err != nil || got.Pico() > pico {
			t.Fatalf("%v: price %v, %v, for %d", l, got, err, pico)
		}
		if got, err := accountant.Price(l.Event(), dp.ZCDP); err != nil || got.Atto() != delta {
			t.Fatalf("%v: price %v, %v, for %d", l, got, err, delta)
		}
	})
}

func TestSelectionString(t *testing.T) {
	if got := gaussianSelection(t, 4, 25, atto/1e6).String(); got != "selection threshold=27 noise=(gaussian variance=25)" {
		t.Error(got)
	}
	if got := laplaceSelection(t, 1, big.NewRat(1, 1), atto/1e5).String(); got != "selection threshold=13 noise=(laplace scale=1)" {
		t.Error(got)
	}
	if got := optimalSelection(t, 2, big.NewRat(1, 2), big.NewRat(1, 1e6)).String(); got != "optimal selection epsilon=0.5 delta=1e-06" {
		t.Error(got)
	}
}

func TestSelectionsRefuse(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 200)
	refused := map[string]func() error{
		"no partitions":      func() error { _, err := mechanisms.NewGaussianSelection(0, big.NewInt(1), 1); return err },
		"no variance":        func() error { _, err := mechanisms.NewGaussianSelection(1, nil, 1); return err },
		"variance huge":      func() error { _, err := mechanisms.NewGaussianSelection(1, huge, 1); return err },
		"threshold huge":     func() error { _, err := mechanisms.NewGaussianSelection(1, new(big.Int).Rsh(huge, 76), 1); return err },
		"no delta":           func() error { _, err := mechanisms.NewGaussianSelection(1, big.NewInt(1), 0); return err },
		"delta negative":     func() error { _, err := mechanisms.GaussianSelectionFor(1, 1, -1); return err },
		"delta one":          func() error { _, err := mechanisms.GaussianSelectionFor(1, 1, atto); return err },
		"no rho":             func() error { _, err := mechanisms.GaussianSelectionFor(1, 0, 1); return err },
		"no scale":           func() error { _, err := mechanisms.NewLaplaceSelection(1, new(big.Rat), 1); return err },
		"scale huge":         func() error { _, err := mechanisms.NewLaplaceSelection(1, new(big.Rat).SetInt(huge), 1); return err },
		"laplace delta":      func() error { _, err := mechanisms.NewLaplaceSelection(1, big.NewRat(1, 1), 0); return err },
		"laplace partitions": func() error { _, err := mechanisms.LaplaceSelectionFor(0, 1, 1); return err },
		"laplace for delta":  func() error { _, err := mechanisms.LaplaceSelectionFor(1, 1, atto); return err },
		"optimal none": func() error {
			_, err := mechanisms.NewOptimalSelection(0, big.NewRat(1, 1), big.NewRat(1, 9))
			return err
		},
		"optimal many": func() error {
			_, err := mechanisms.NewOptimalSelection(4, big.NewRat(1, 1), big.NewRat(1, 9))
			return err
		},
		"optimal no epsilon": func() error { _, err := mechanisms.NewOptimalSelection(1, nil, big.NewRat(1, 9)); return err },
		"optimal epsilon 0":  func() error { _, err := mechanisms.NewOptimalSelection(1, new(big.Rat), big.NewRat(1, 9)); return err },
		"optimal epsilon big": func() error {
			_, err := mechanisms.NewOptimalSelection(1, big.NewRat(1e5, 1), big.NewRat(1, 9))
			return err
		},
		"optimal no delta": func() error { _, err := mechanisms.NewOptimalSelection(1, big.NewRat(1, 1), nil); return err },
		"optimal delta sum": func() error {
			_, err := mechanisms.NewOptimalSelection(3, big.NewRat(1, 1), big.NewRat(1, 3))
			return err
		},
		"optimal delta tiny": func() error {
			_, err := mechanisms.NewOptimalSelection(3, big.NewRat(1, 1), new(big.Rat).SetFrac(big.NewInt(1), huge))
			return err
		},
		"optimal for none":   func() error { _, err := mechanisms.OptimalSelectionFor(0, 1, 1); return err },
		"optimal for many":   func() error { _, err := mechanisms.OptimalSelectionFor(4, 1000, 1); return err },
		"optimal for no rho": func() error { _, err := mechanisms.OptimalSelectionFor(3, 2, 1); return err },
		"optimal for delta":  func() error { _, err := mechanisms.OptimalSelectionFor(3, 1000, 0); return err },
	}
	for name, build := range refused {
		if err := build(); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestZeroSelectionTellsNothing makes sure that a selection nobody built does not
// tell whether a partition has units.
func TestZeroSelectionTellsNothing(t *testing.T) {
	units := mechanisms.Protect(big.NewInt(42))
	for name, try := range map[string]func(){
		"gaussian": func() { mechanisms.GaussianSelection{}.Select(seeded(t), units) },
		"laplace":  func() { mechanisms.LaplaceSelection{}.Select(seeded(t), units) },
		"optimal":  func() { mechanisms.OptimalSelection{}.Select(seeded(t), units) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a zero %s selection told something", name)
				}
			}()
			try()
		}()
	}
}

func FuzzPartition(f *testing.F) {
	f.Add(int64(1), int64(1), int64(1), int64(1))
	f.Add(int64(3), int64(5e11), int64(1e12), int64(20))
	f.Add(int64(1<<62), int64(1), int64(1), int64(1<<62))
	f.Add(int64(2), int64(9e15), int64(atto-1), int64(-1))
	f.Fuzz(func(t *testing.T, k, pico, delta, units int64) {
		src, private := mechanisms.NewSource(), mechanisms.Protect(big.NewInt(units))
		if s, err := mechanisms.GaussianSelectionFor(k, pico, delta); err == nil {
			fuzzThreshold(t, s, src, private, units)
		} else if !errors.Is(err, mechanisms.ErrParameter) {
			t.Error(err)
		}
		if s, err := mechanisms.LaplaceSelectionFor(k, pico, delta); err == nil {
			fuzzThreshold(t, s, src, private, units)
		} else if !errors.Is(err, mechanisms.ErrParameter) {
			t.Error(err)
		}
		s, err := mechanisms.OptimalSelectionFor(k, pico, delta)
		switch {
		case err != nil && !errors.Is(err, mechanisms.ErrParameter):
			t.Error(err)
		case err == nil:
			if p := s.Keep(units); !(p >= 0 && p <= 1) {
				t.Errorf("%v: Keep(%d) = %v", s, units, p)
			}
			s.Select(src, private)
		}
	})
}

func fuzzThreshold(t *testing.T, s thresholdSelection, src mechanisms.Source, private mechanisms.Private, units int64) {
	t.Helper()
	if p := s.Keep(units); !(p >= 0 && p <= 1) || s.Threshold() < 1 {
		t.Errorf("%v: Keep(%d) = %v", s, units, p)
	}
	if noisy, kept := s.Select(src, private); kept && noisy.Int().Cmp(big.NewInt(s.Threshold())) < 0 {
		t.Errorf("%v kept %v", s, noisy.Int())
	}
}
