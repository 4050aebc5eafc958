package papertest_test

import (
	"errors"
	"math"
	"testing"

	"dpproxy/accountant/papertest"
	"dpproxy/mechanisms"
)

// TestGaussianSigmaIsTheLeast checks that σ is enough, and that a relative 10⁻⁹
// less is not.
func TestGaussianSigmaIsTheLeast(t *testing.T) {
	for _, l2 := range []float64{1e-3, 1, 1e6} {
		for _, epsilon := range []float64{0, 1e-6, 0.1, 1, 10, 100} {
			for _, delta := range []float64{0.5, 1e-3, 1e-6, 1e-12, 1e-30, 1e-200} {
				sigma, err := papertest.GaussianSigma(l2, epsilon, delta)
				if err != nil {
					t.Errorf("Δ = %v, ε = %v, δ = %v: %v", l2, epsilon, delta, err)
					continue
				}
				enough, _ := mechanisms.GaussianDelta(sigma, l2, epsilon)
				less, _ := mechanisms.GaussianDelta(sigma*(1-1e-9), l2, epsilon)
				if enough > delta || less <= delta {
					t.Errorf("Δ = %v, ε = %v, δ = %v: σ = %v has δ = %v, less noise %v", l2, epsilon, delta, sigma, enough, less)
				}
			}
		}
	}
}

func TestGaussianSigmaRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, in := range [][3]float64{
		{0, 1, 1e-5},
		{nan, 1, 1e-5},
		{1, -1, 1e-5},
		{1, inf, 1e-5},
		{1, 1, 0},
		{1, 1, 1},
		{1, 1, nan},
		{1, 1, 1e-251},
		{1e300, 0, 1e-250},
	} {
		if _, err := papertest.GaussianSigma(in[0], in[1], in[2]); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("σ of %v: %v", in, err)
		}
	}
}

func FuzzGaussianSigma(f *testing.F) {
	f.Add(int64(4), int64(1), 1.0)
	f.Add(int64(1<<62), int64(1<<62), 1e-9)
	f.Add(int64(1<<20), int64(1<<62), 1e30)
	f.Fuzz(func(t *testing.T, variance, shift int64, epsilon float64) {
		if sigma, err := papertest.GaussianSigma(float64(shift), epsilon, 1/float64(variance)); err == nil && !(sigma > 0) {
			t.Errorf("shift %d, ε = %v, δ = 1/%d: σ = %v", shift, epsilon, variance, sigma)
		}
	})
}
