package mechanisms_test

import (
	"math"
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// TestScalesWidth compares the boundary, in units of sigma, with the one that was tuned to
// the precision in question.
func TestScalesWidth(t *testing.T) {
	s, err := mechanisms.NewScales(0.05, 1)
	if err != nil {
		t.Fatal(err)
	}
	for sigma := 1.0; sigma < 1000; sigma *= 1.5 {
		best, err := mechanisms.NewAnytime(0.05, sigma)
		if err != nil {
			t.Fatal(err)
		}
		wider := s.HalfWidth(sigma) / best.HalfWidth(sigma)
		if most := 1.4; wider < 1 || wider > most || sigma == 1 && wider > 1.06 {
			t.Errorf("at sigma = %.4g it is %.3f times the best", sigma, wider)
		}
	}
	tuned, _ := mechanisms.NewAnytime(0.05, 1)
	if far := tuned.HalfWidth(1000) / s.HalfWidth(1000); far < 50 {
		t.Errorf("a single scale is only %.1f times as wide far away", far)
	}
}

func TestScalesParameters(t *testing.T) {
	for _, bad := range [][2]float64{{0, 1}, {1.7, 1}, {math.NaN(), 1}, {0.05, 0}, {0.05, math.Inf(1)}} {
		if _, err := mechanisms.NewScales(bad[0], bad[1]); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestScalesSigma goes to the sigma of a half-width, and just beyond.
func TestScalesSigma(t *testing.T) {
	s, err := mechanisms.NewScales(0.05, 30)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []float64{1e-9, 0.3, 25, 1e6, 1e20} {
		if sigma := s.Sigma(c); sigma <= 0 || s.HalfWidth(sigma*(1-1e-9)) > c || s.HalfWidth(sigma*(1+1e-9)) <= c {
			t.Errorf("a half-width of %v is that of sigma = %v", c, sigma)
		}
	}
	for _, c := range []float64{0, -1, 1e-70, math.NaN()} {
		if sigma := s.Sigma(c); sigma > 1e-50 {
			t.Errorf("a half-width of %v is that of sigma = %v", c, sigma)
		}
	}
}

// TestScalesHold looks again and again at a chain whose precision grows a thousandfold, as
// an adversary who waits for the boundary to be left. A boundary of one look is left far
// more often than it says.
func TestScalesHold(t *testing.T) {
	const runs, beta, truth = 2000, 0.05, 1000
	src := stattest.Source(t)
	s, err := mechanisms.NewScales(beta, 30)
	if err != nil {
		t.Fatal(err)
	}
	left, leftNaive := 0, 0
	for range runs {
		exact := []mechanisms.Private{mechanisms.Protect(big.NewInt(truth))}
		b, err := mechanisms.NewBrownian(dp.Sensitivity{L0: 1, LInf: 1}, exact, dp.PicoPerUnit)
		if err != nil {
			t.Fatal(err)
		}
		out, naive := false, false
		for variance := int64(1_000_000); variance >= 1000; variance = variance * 4 / 5 {
			step, err := b.Plan([]mechanisms.Draw{{Coordinate: 0, Variance: big.NewInt(variance)}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := step.Measure(src); err != nil {
				t.Fatal(err)
			}
			e := b.Estimates()[0]
			y, _ := e.Value.Float64()
			out = out || math.Abs(y-truth) > s.HalfWidth(e.Sigma)
			naive = naive || math.Abs(y-truth) > 1.96*e.Sigma
		}
		if out {
			left++
		}
		if naive {
			leftNaive++
		}
	}
	// Five standard deviations above 5 % of 2000 are 149.
	if left > 149 {
		t.Errorf("left in %d of %d runs", left, runs)
	}
	if leftNaive < 400 {
		t.Errorf("the quantile of one look was left in %d of %d runs: the adversary is weak", leftNaive, runs)
	}
	t.Logf("left in %d of %d runs, that of one look in %d", left, runs, leftNaive)
}
