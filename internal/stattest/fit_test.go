package stattest_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpproxy/internal/stattest"
)

func seeded() *rand.Rand { return rand.New(rand.NewChaCha8([32]byte{1})) }

// die is the law of a fair die with the faces −2 to 3.
func die(n int64) float64 {
	if n >= -2 && n <= 3 {
		return 1.0 / 6
	}
	return 0
}

func TestFitIsUniformUnderTheLaw(t *testing.T) {
	r := seeded()
	below, runs := 0, 400
	for range runs {
		if stattest.Fit(stattest.Draw(600, func() int64 { return r.Int64N(6) - 2 }), die) < 0.1 {
			below++
		}
	}
	// Binomial(400, 0.1) has mean 40 and standard deviation 6; the limits are five standard deviations away.
	if below < 10 || below > 70 {
		t.Errorf("%d of %d p-values are below 0.1, want about 40", below, runs)
	}
}

func TestAcceptRejectsALoadedDie(t *testing.T) {
	r := seeded()
	loaded := func() int64 {
		if r.IntN(50) == 0 {
			return 3
		}
		return r.Int64N(6) - 2
	}
	if p, ok := stattest.Accept(20_000, loaded, die); ok {
		t.Errorf("accepted a loaded die with p = %g", p)
	}
	if p, ok := stattest.Accept(20_000, func() int64 { return r.Int64N(6) - 2 }, die); !ok {
		t.Errorf("rejected a fair die with p = %g", p)
	}
}

func TestFitRefusesWhatIsNoLaw(t *testing.T) {
	samples := []int64{0, 0, 0}
	tests := map[string]func(int64) float64{
		"too little mass": func(n int64) float64 { return die(n) / 2 },
		"too much mass":   func(n int64) float64 { return die(n) * 2 },
		"not a number":    func(int64) float64 { return math.NaN() },
		"too few samples": die,
	}
	for name, pmf := range tests {
		if p := stattest.Fit(samples, pmf); p != 0 {
			t.Errorf("%s: p = %g, want 0", name, p)
		}
	}
}

func TestFitCountsOutlandishSamples(t *testing.T) {
	r := seeded()
	samples := stattest.Draw(20_000, func() int64 { return r.Int64N(6) - 2 })
	for i := range 1000 {
		samples[i] = math.MaxInt64
	}
	if p := stattest.Fit(samples, die); p >= stattest.Level {
		t.Errorf("p = %g although one sample in twenty is impossible", p)
	}
}

// TestFitMergesTheRest has a last value that expects fewer samples than a bin needs.
func TestFitMergesTheRest(t *testing.T) {
	pmf := func(n int64) float64 { return map[int64]float64{0: 0.4, 1: 0.34, 2: 0.26}[n] }
	var samples []int64
	for value, count := range []int{12, 10, 8} {
		for range count {
			samples = append(samples, int64(value))
		}
	}
	if p := stattest.Fit(samples, pmf); p < 0.9 {
		t.Errorf("p = %g for samples as expected", p)
	}
}

func TestMeanZ(t *testing.T) {
	r := seeded()
	square := func(n int64) float64 { return float64(n * n) }
	fair := stattest.Draw(100_000, func() int64 { return r.Int64N(6) - 2 })
	if z := stattest.MeanZ(fair, square, die); math.Abs(z) > stattest.MaxZ {
		t.Errorf("z = %g for a fair die", z)
	}
	narrow := stattest.Draw(100_000, func() int64 { return r.Int64N(5) - 2 })
	if z := stattest.MeanZ(narrow, square, die); z > -stattest.MaxZ {
		t.Errorf("z = %g for a die without its largest face", z)
	}
}

// TestLaws compares the laws with moments that were computed elsewhere, to fifty digits: P(0), the variance, and the mean of |n|.
func TestLaws(t *testing.T) {
	tests := []struct {
		name                   string
		pmf                    func(int64) float64
		zero, variance, spread float64
	}{
		{"laplace 1", stattest.Laplace(1), 0.46211715726000974, 1.8413471884155845, 0.8509181282393216},
		{"laplace 2", stattest.Laplace(2), 0.24491866240370913, 7.835396178065528, 1.9190347513349437},
		{"gaussian 0.25", stattest.Gaussian(0.25), 0.7865707070419479, 0.21501267508813848, 0},
		{"gaussian 1", stattest.Gaussian(1), 0.3989422782668617, 0.9999997887677281, 0},
		{"gaussian 100", stattest.Gaussian(100), 0.03989422804014327, 100, 0},
	}
	identity := func(n int64) float64 { return float64(n) }
	abs := func(n int64) float64 { return math.Abs(float64(n)) }
	for _, tt := range tests {
		_, variance := stattest.Moments(identity, tt.pmf)
		spread, _ := stattest.Moments(abs, tt.pmf)
		if !near(tt.pmf(0), tt.zero) || !near(variance, tt.variance) || tt.spread != 0 && !near(spread, tt.spread) {
			t.Errorf("%s: P(0) = %.17g, variance %.17g, mean of |n| %.17g", tt.name, tt.pmf(0), variance, spread)
		}
	}
}

func TestCellsIsALaw(t *testing.T) {
	cdf := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	total := 0.0
	for n := int64(-100); n < 100; n++ {
		total += stattest.Cells(cdf, 0.25)(n)
	}
	if !near(total, 1) {
		t.Errorf("total mass %.17g", total)
	}
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-11*math.Abs(want) }

// TestEvidence distinguishes a fair die from a die whose six is twice as likely, in both directions. Samples of the wrong law are no
// evidence for the right law.
func TestEvidence(t *testing.T) {
	r := seeded()
	loaded := func(n int64) float64 {
		if n == 3 {
			return 2 / 7.0
		}
		return die(n) * 6 / 7
	}
	fair := stattest.Draw(2000, func() int64 { return r.Int64N(6) - 2 })
	heavy := stattest.Draw(2000, func() int64 { return min(r.Int64N(7)-2, 3) })
	for what, got := range map[string]float64{
		"a fair die": stattest.Evidence(fair, die, loaded), "a loaded one": stattest.Evidence(heavy, loaded, die),
		"a fair one against itself": -stattest.Evidence(fair, loaded, die),
	} {
		if got < stattest.Decisive {
			t.Errorf("%s has an evidence of %g", what, got)
		}
	}
	if got := stattest.Evidence([]int64{4}, die, func(int64) float64 { return 1 }); !math.IsInf(got, -1) {
		t.Errorf("what cannot be is an evidence of %g", got)
	}
}
