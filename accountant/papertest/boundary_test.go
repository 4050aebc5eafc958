package papertest_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/papertest"
)

// TestBoundaries has numbers that were computed elsewhere.
func TestBoundaries(t *testing.T) {
	tests := []struct {
		b       papertest.Boundary
		t, want float64
	}{
		{papertest.Boundary{L2: 1, Delta: 1e-6, Slope: 0.2}, 100, 0.5503877639491068},
		{papertest.Boundary{L2: 2, Delta: 1e-5, Slope: 0.5}, 25, 2.0010340371976185},
		{papertest.Boundary{L2: 1, Delta: 1e-6, Tuning: 10}, 100, 0.5797330513168667},
		{papertest.Boundary{L2: 2, Delta: 1e-5, Tuning: 5}, 25, 2.2628836882986585},
	}
	for _, tt := range tests {
		if got, err := tt.b.At(tt.t); err != nil || math.Abs(got-tt.want) > 1e-10*tt.want {
			t.Errorf("%+v at %g: %.16g, want %.16g (%v)", tt.b, tt.t, got, tt.want, err)
		}
	}
	best := papertest.BestSlope(10, 1e-6)
	rho, root := 1/20.0, math.Sqrt(math.Log(1e6)/20)
	if math.Abs(best-0.831129068134555) > 1e-12 {
		t.Errorf("the best slope is %.15g", best)
	}
	at := func(slope float64) float64 {
		x, err := papertest.Boundary{L2: 1, Delta: 1e-6, Slope: slope}.At(10)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	if got := at(best); math.Abs(got-1.7122581362691098) > 1e-10 || math.Abs(got-(rho+2*root)) > 1e-10 {
		t.Errorf("the linear boundary is %.16g at its best", got)
	}
	if at(best*1.01) <= at(best) || at(best*0.99) <= at(best) {
		t.Error("another slope is better")
	}
}

// TestBoundariesAreRarelyCrossed simulates the loss of paths that are refined in
// many small steps, and counts those that cross anywhere. A twin with a δ that is
// twenty times too large to be true is crossed too often.
func TestBoundariesAreRarelyCrossed(t *testing.T) {
	const delta, paths, steps = 0.05, 20_000, 200
	crossings := func(b papertest.Boundary) float64 {
		r := rand.New(rand.NewChaCha8([32]byte{3}))
		crossed := 0
		for range paths {
			w, s := 0.0, 0.0
			for k := range steps {
				next := 1e-3 * math.Pow(1e5, float64(k+1)/steps) // precisions to 100
				w += math.Sqrt(next-s) * r.NormFloat64()
				s = next
				limit, err := b.At(1 / s)
				if err != nil {
					t.Fatal(err)
				}
				if b.L2*b.L2*s/2+b.L2*w > limit {
					crossed++
					break
				}
			}
		}
		return float64(crossed) / paths
	}
	for _, b := range []papertest.Boundary{
		{L2: 1, Delta: delta, Slope: 1},
		{L2: 3, Delta: delta, Slope: 0.4},
		{L2: 1, Delta: delta, Tuning: 0.1},
		{L2: 3, Delta: delta, Tuning: 2},
	} {
		const five = 5 * 0.0016 // standard errors of the fraction
		if got := crossings(b); got > delta+five || got < delta/5 {
			t.Errorf("%+v is crossed with probability %g", b, got)
		}
		untrue := b
		untrue.Delta = 1 - math.Pow(1-delta, 20)
		if got := crossings(untrue); got <= delta+five {
			t.Errorf("%+v is crossed with probability %g only", untrue, got)
		}
	}
}

func TestBoundaryRefuses(t *testing.T) {
	good := papertest.Boundary{L2: 1, Delta: 0.1, Slope: 1}
	both, none, l2, delta := good, good, good, good
	both.Tuning, none.Slope, l2.L2, delta.Delta = 1, 0, math.NaN(), 1
	for _, b := range []papertest.Boundary{both, none, l2, delta} {
		if _, err := b.At(1); !errors.Is(err, accountant.ErrReport) {
			t.Errorf("%+v: %v", b, err)
		}
	}
	if _, err := good.At(0); !errors.Is(err, accountant.ErrReport) {
		t.Errorf("a variance of 0: %v", err)
	}
}
