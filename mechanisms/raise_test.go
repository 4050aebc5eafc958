package mechanisms_test

import (
	"errors"
	"math"
	"testing"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// TestRaiseFillsTheLevel raises coordinates together, and spends all there is.
func TestRaiseFillsTheLevel(t *testing.T) {
	s, src := dp.Sensitivity{L0: 2, LInf: 1}, seeded(t)
	b := chain(t, s, exactly(0, 0, 0, 0), unlimited)
	raise := func(level int64, targets ...mechanisms.Target) {
		t.Helper()
		step, err := b.Raise(targets, level)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := step.Measure(src); err != nil {
			t.Fatal(err)
		}
		if paid := b.Paid(); paid > level {
			t.Fatalf("paid %d of %d", paid, level)
		}
	}
	sigma := func(i int) float64 { return b.Estimates()[i].Sigma }
	// ρ = 0.001 over the two largest of four: 2·(1/v)/2 = 0.001.
	raise(dp.PicoPerUnit/1000, mechanisms.Target{Coordinate: 0}, mechanisms.Target{Coordinate: 1},
		mechanisms.Target{Coordinate: 2}, mechanisms.Target{Coordinate: 3})
	for i := range 4 {
		if got := sigma(i); math.Abs(got-math.Sqrt(1000)) > 1e-9 {
			t.Errorf("coordinate %d at ρ = 0.001: sigma %v", i, got)
		}
	}
	// One alone gets all that ρ = 0.01 has beside the other's 0.0005.
	raise(dp.PicoPerUnit/100, mechanisms.Target{Coordinate: 2})
	if got, want := sigma(2), math.Sqrt(1/0.019); math.Abs(got/want-1) > 0.01 {
		t.Errorf("one alone at ρ = 0.01: sigma %v, want %v", got, want)
	}
	// Others are raised to the second largest for nothing, or as far as they need.
	raise(dp.PicoPerUnit/50, mechanisms.Target{Coordinate: 0, Variance: 500})
	before := b.Paid()
	raise(before, mechanisms.Target{Coordinate: 1, Variance: 1e-6}, mechanisms.Target{Coordinate: 3, Variance: 800})
	if b.Paid() != before {
		t.Errorf("paid %d more", b.Paid()-before)
	}
	for i, want := range []float64{500, 500, 1 / 0.019, 800} {
		if got := sigma(i); math.Abs(got*got/want-1) > 0.01 {
			t.Errorf("coordinate %d has variance %v, want %v", i, got*got, want)
		}
	}
	if _, err := b.Raise([]mechanisms.Target{{Coordinate: 1}}, before); !errors.Is(err, mechanisms.ErrCap) {
		t.Errorf("nothing is left for it, but: %v", err)
	}
}
