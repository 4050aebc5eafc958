package brdp_test

import (
	"math"
	"testing"

	"dpproxy/brdp/papertest"
)

// TestPaperUnderestimates shows by how much: the true δ of the noise that the
// paper's algorithms allocate for δ = 10⁻⁵.
func TestPaperUnderestimates(t *testing.T) {
	const delta = 1e-5
	g := papertest.Allocate(5, 1, 3, delta, 2.7)
	if !near(g.Sigma, 1.52621, 1e-5) || !near(g.Recycle, 0.72940, 1e-5) {
		t.Errorf("allocated %+v", g)
	}
	if claimed, exact := papertest.Delta(g, 3, 1), g.Delta(3, 1); !near(claimed, delta, 1e-6) || !near(exact, 1.2295e-3, 1e-4) {
		t.Errorf("claimed %v, true %v", claimed, exact)
	}
	g = papertest.Allocate(20, 5, 5, delta, 4)
	if ratio := g.Delta(5, 5) / delta; math.Round(ratio) != 144 {
		t.Errorf("%v times the claim, want 144", ratio)
	}
	share, best := papertest.Budget(5, 1, 3, delta)
	if ratio := best.Delta(3, 1) / delta; !near(share, 2.94, 5e-3) || ratio < 70 || ratio > 80 {
		t.Errorf("share %v, %v times the claim", share, ratio)
	}
	g = papertest.Allocate(5, 1, 3, delta, 2.94)
	if ratio := g.Delta(3, 1) / delta; math.Round(ratio) != 76 {
		t.Errorf("%v times the claim, want 76", ratio)
	}
	low, high := 3.0, 6.0
	for range 60 {
		if mid := (low + high) / 2; g.Delta(mid, 1) > delta {
			low = mid
		} else {
			high = mid
		}
	}
	if !near(high, 3.65, 1.5e-3) {
		t.Errorf("true ε = %v, want 3.65", high)
	}
}

// TestPaperCompositionLeavesOutATerm: with T = 1, Theorem 3 should be Proposition 2.
func TestPaperCompositionLeavesOutATerm(t *testing.T) {
	g := papertest.GaussianLimit{Sigma: 2, Theta: 1, Recycle: 0.5}
	whole, composed := papertest.Delta(g, 1, 1), papertest.ComposedDelta(g, 1, 1, 1)
	kernel := papertest.GaussianLimit{Sigma: 2, Theta: 1}.Delta(1, 1)
	if missing := (1 - papertest.Mixed(g, 1)) * kernel; !near(whole-composed, missing, 1e-9) {
		t.Errorf("%v and %v differ by other than %v", whole, composed, missing)
	}
}
