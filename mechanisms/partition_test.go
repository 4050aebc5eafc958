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

const atto = dp.AttoPerUnit

func gaussianSelection(t testing.TB, k, variance, deltaAtto int64) mechanisms.GaussianSelection {
	t.Helper()
	s, err := mechanisms.NewGaussianSelection(k, big.NewInt(variance), deltaAtto)
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
		s   mechanisms.GaussianSelection
		pmf func(int64) float64
		far int64
	}
	for _, k := range []int64{1, 2, 7, 1000} {
		for _, delta := range []int64{1, atto / 1e12, atto / 1e6, atto / 100, atto / 2, atto - atto/1000} {
			var all []tried
			for _, v := range []int64{1, 2, 25, 1000, 300_000} {
				sigma := math.Sqrt(float64(v))
				all = append(all, tried{gaussianSelection(t, k, v, delta), stattest.Gaussian(float64(v)), int64(20*sigma) + 10})
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
	for _, s := range []mechanisms.GaussianSelection{
		gaussianSelection(t, 3, 25, atto/1e6), gaussianSelection(t, 1, 1<<60, 1),
	} {
		if s.Keep(0) != 0 || s.Keep(-1) != 0 || s.Keep(math.MinInt64) != 0 {
			t.Errorf("%v keeps an empty partition", s)
		}
		if got := s.Keep(math.MaxInt64); got != 1 {
			t.Errorf("%v keeps all of the world with probability %v", s, got)
		}
	}
}

// TestSelectionHasItsLaw tests the joint law of the output of a selection: nothing, or the
// noisy number of units. Nothing counts as one below the least number that can be told.
func TestSelectionHasItsLaw(t *testing.T) {
	tests := []struct {
		s         mechanisms.GaussianSelection
		pmf, twin func(int64) float64
	}{
		{gaussianSelection(t, 4, 25, atto/1e6), stattest.Gaussian(25), stattest.Gaussian(25 * wrong * wrong)},
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
	s, pmf, delta := gaussianSelection(t, 1, 9, atto/1e4), stattest.Gaussian(9), gaussian(t, 9).Delta(epsilon)
	told := func(n, out int64) float64 { // out below the threshold stands for nothing
		if out >= s.Threshold() {
			return pmf(out - n)
		}
		return 1 - s.Keep(n)
	}
	if s.Keep(1) > 1e-4 {
		t.Errorf("%v: one unit is seen with probability %v", s, s.Keep(1))
	}
	for n := int64(1); n < 60; n++ {
		up, down := 0.0, 0.0
		for out := s.Threshold() - 1; out < 300; out++ {
			up += math.Max(0, told(n, out)-math.Exp(epsilon)*told(n+1, out))
			down += math.Max(0, told(n+1, out)-math.Exp(epsilon)*told(n, out))
		}
		if up > delta*(1+1e-9) || down > delta*(1+1e-9) {
			t.Errorf("%v: %d and %d units differ by δ = %v, %v at ε = %v, the noise by %v", s, n, n+1, up, down, epsilon, delta)
		}
	}
}

// TestBudgetedSelections checks for any budget that the price keeps to it.
func TestBudgetedSelections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pico := rapid.Int64Range(1, 1<<rapid.IntRange(0, 53).Draw(t, "pico bits")).Draw(t, "pico")
		delta := rapid.Int64Range(1, atto-1).Draw(t, "delta")

		g, err := mechanisms.GaussianSelectionFor(pico, delta)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := accountant.Price(g.Event(), dp.ZCDP); err != nil || got.Pico() > pico || got.Atto() != delta {
			t.Fatalf("%v: price %v, %v, for %d and %d", g, got, err, pico, delta)
		}
	})
}

func TestSelectionString(t *testing.T) {
	if got := gaussianSelection(t, 4, 25, atto/1e6).String(); got != "selection threshold=27 noise=(gaussian variance=25)" {
		t.Error(got)
	}
}

func TestSelectionsRefuse(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 200)
	refused := map[string]func() error{
		"no partitions":  func() error { _, err := mechanisms.NewGaussianSelection(0, big.NewInt(1), 1); return err },
		"no variance":    func() error { _, err := mechanisms.NewGaussianSelection(1, nil, 1); return err },
		"variance huge":  func() error { _, err := mechanisms.NewGaussianSelection(1, huge, 1); return err },
		"threshold huge": func() error { _, err := mechanisms.NewGaussianSelection(1, new(big.Int).Rsh(huge, 76), 1); return err },
		"no delta":       func() error { _, err := mechanisms.NewGaussianSelection(1, big.NewInt(1), 0); return err },
		"delta negative": func() error { _, err := mechanisms.GaussianSelectionFor(1, -1); return err },
		"delta one":      func() error { _, err := mechanisms.GaussianSelectionFor(1, atto); return err },
		"no rho":         func() error { _, err := mechanisms.GaussianSelectionFor(0, 1); return err },
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
	f.Add(int64(1), int64(1), int64(1))
	f.Add(int64(5e11), int64(1e12), int64(20))
	f.Add(int64(1), int64(1), int64(1<<62))
	f.Add(int64(9e15), int64(atto-1), int64(-1))
	f.Fuzz(func(t *testing.T, pico, delta, units int64) {
		src, private := mechanisms.NewSource(), mechanisms.Protect(big.NewInt(units))
		if s, err := mechanisms.GaussianSelectionFor(pico, delta); err == nil {
			fuzzThreshold(t, s, src, private, units)
		} else if !errors.Is(err, mechanisms.ErrParameter) {
			t.Error(err)
		}
	})
}

func fuzzThreshold(t *testing.T, s mechanisms.GaussianSelection, src mechanisms.Source, private mechanisms.Private, units int64) {
	t.Helper()
	if p := s.Keep(units); !(p >= 0 && p <= 1) || s.Threshold() < 1 {
		t.Errorf("%v: Keep(%d) = %v", s, units, p)
	}
	if noisy, kept := s.Select(src, private); kept && noisy.Int().Cmp(big.NewInt(s.Threshold())) < 0 {
		t.Errorf("%v kept %v", s, noisy.Int())
	}
}
