package mechanisms_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func weightedSelection(t testing.TB, k int64, rho float64, deltaAtto int64) mechanisms.WeightedSelection {
	t.Helper()
	s, err := mechanisms.WeightedSelectionFor(k, int64(math.Round(rho*dp.PicoPerUnit)), deltaAtto)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPartitionWeight checks that weights are the largest whose norm is at most 1, and at least
// as much as any limit of partitions leaves for the same noise.
func TestPartitionWeight(t *testing.T) {
	norm := func(k, w int64) *big.Int {
		n := new(big.Int).Mul(big.NewInt(w), big.NewInt(w))
		return n.Mul(n, big.NewInt(k))
	}
	one := new(big.Int).Lsh(big.NewInt(1), 40)
	for k := int64(1); k <= 10_000; k++ {
		w := mechanisms.PartitionWeight(k)
		if norm(k, w).Cmp(one) > 0 || norm(k, w+1).Cmp(one) <= 0 {
			t.Fatalf("the weight of %d partitions is %d", k, w)
		}
		for _, l0 := range []int64{1, 4, 16, 64, k} {
			hashed := math.Min(1/math.Sqrt(float64(l0)), math.Sqrt(float64(l0))/float64(k))
			if float64(w+1)/mechanisms.WeightUnit < hashed {
				t.Fatalf("%d of %d partitions leave %g, the weight %d less", l0, k, hashed, w)
			}
		}
	}
}

// TestWeightedThreshold compares thresholds with those of the continuous law, which the lattice
// approaches, and with an exhaustive search.
func TestWeightedThreshold(t *testing.T) {
	for _, tt := range []struct {
		rho   float64
		delta int64
		k     int64
		want  float64
	}{{0.0025, atto / 1e10, 4096, 106.577}, {0.005, atto / 1e9, 64, 66.531}} {
		s := weightedSelection(t, tt.k, tt.rho, tt.delta)
		if got := s.Threshold(); math.Abs(got-tt.want) > 0.001 {
			t.Errorf("ρ = %g: %v, want a threshold of %g", tt.rho, s, tt.want)
		}
	}
	for _, rho := range []float64{0.5, 8, 200, 3000} { // with little noise the most is needed by few partitions
		for _, delta := range []int64{atto / 1e10, atto / 1e3, atto / 2} {
			s, most := weightedSelection(t, 200, rho, delta), 0.0
			for k := int64(1); k <= 200; k++ {
				most = math.Max(most, s.Needed(k))
			}
			if s.Threshold() != most {
				t.Errorf("ρ = %g, δ = %d: a threshold of %g, and %g is needed", rho, delta, s.Threshold(), most)
			}
		}
	}
}

// TestWeightedAlone checks that no unit which is alone in its partitions is seen in any with a
// probability above δ; that a threshold less by one would show some is the oracle's matter.
func TestWeightedAlone(t *testing.T) {
	for _, delta := range []int64{atto / 1e12, atto / 1e6, atto / 100} {
		for _, rho := range []float64{0.001, 0.1, 10} {
			s := weightedSelection(t, 4096, rho, delta)
			worst := 0.0
			for _, k := range []int64{1, 2, 3, 10, 100, 1000, 4000, 4096} {
				seen := -math.Expm1(float64(k) * math.Log1p(-s.Keep(mechanisms.PartitionWeight(k))))
				worst = math.Max(worst, seen*atto/float64(delta))
			}
			if worst > 1+1e-9 {
				t.Errorf("%v: a unit alone is seen with %g times δ", s, worst)
			}
			if worst < 0.9 && rho < 1 {
				t.Errorf("%v: no unit alone is seen with more than %g times δ", s, worst)
			}
		}
	}
}

// TestWeightedSelectionHasItsLaw tests how often a partition is kept, and the noise beside its
// weight. A law of another threshold must fail.
func TestWeightedSelectionHasItsLaw(t *testing.T) {
	s := weightedSelection(t, 64, 2, atto/1e4)
	for _, below := range []float64{0.5, 0, -0.5} {
		weight := int64((s.Threshold() - below) * mechanisms.WeightUnit)
		t.Run(fmt.Sprint(below), func(t *testing.T) {
			t.Parallel()
			src, private := seeded(t), mechanisms.Protect(big.NewInt(weight))
			draw := func() int64 {
				noisy, kept := s.Select(src, private)
				if !kept && noisy.Int().Sign() != 0 {
					t.Fatal("a number of a partition that was not kept")
				}
				if kept {
					return 1
				}
				return 0
			}
			law := func(keep float64) func(int64) float64 {
				return func(n int64) float64 { return map[int64]float64{0: 1 - keep, 1: keep}[n] }
			}
			if p, ok := stattest.Accept(20_000, draw, law(s.Keep(weight))); !ok {
				t.Errorf("kept with another probability than %g: p = %g", s.Keep(weight), p)
			}
			if p, ok := stattest.Accept(20_000, draw, law(s.Keep(weight+mechanisms.WeightUnit/4))); ok {
				t.Errorf("a twin is accepted, p = %g: the test cannot fail", p)
			}
		})
	}
	if s.Keep(0) != 0 || s.Keep(-1) != 0 || s.Keep(math.MaxInt64) != 1 {
		t.Errorf("%v keeps an empty partition, or not all of the world", s)
	}
}
