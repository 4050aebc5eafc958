package stattest

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// Level is the p-value below which a chi-square test rejects.
	Level = 1e-8
	// MaxZ is the |z| above which a z-test rejects: p = 2·10⁻⁹. The expected |z| of a twin should be at least 2·MaxZ, so that chance
	// rejects it with the same certainty.
	MaxZ = 6

	// Decisive is the [Evidence], in nats, from which on a test takes a law for proved against another law. Samples with an expected
	// evidence of E have at least E − 5·√(2E), except in one test of three million. So a test draws until E ≥ 65.
	Decisive = 7

	// leastExpected is the smallest expectation of a bin. For smaller ones the chi-square law is a poor approximation.
	leastExpected = 10
	// leastShare is the smallest mass of a bin as a share of the mass outside the bin, on the side with less of it. It limits the number of
	// bins of a wide law, and so the noise of the test, to less than 300 for 2·10⁵ draws, and keeps the bins in the tails narrow.
	leastShare = 0.05
	// restMass is the mass outside the scanned support. Up to 10⁷ draws, less than a thousandth of a draw is expected there.
	restMass = 1e-10
	// maxSupport bounds the scan of a pmf that does not sum to 1.
	maxSupport = 1 << 24
)

// Accept draws n values and tests them against pmf. If they are rejected, it tests 4n new values. So a right sampler fails with probability
// Level² = 10⁻¹⁶, and a wrong sampler still fails. It returns the last p-value.
func Accept(n int, draw func() int64, pmf func(int64) float64) (p float64, ok bool) {
	for _, size := range []int{n, 4 * n} {
		p = Fit(Draw(size, draw), pmf)
		if p >= Level {
			return p, true
		}
	}
	return p, false
}

// Draw returns n values of draw.
func Draw(n int, draw func() int64) []int64 {
	samples := make([]int64, n)
	for i := range samples {
		samples[i] = draw()
	}
	return samples
}

// Fit returns the p-value of a chi-square test of independent samples against an exact probability mass function on the integers: the
// probability that samples of this law deviate at least as much. It merges neighbouring integers until a bin expects at least ten samples,
// and more in the middle of a wide law. The p-value is 0 if the pmf does not sum to 1, or if there are too few samples for two bins.
func Fit(samples []int64, pmf func(int64) float64) float64 {
	bins := partition(float64(len(samples)), pmf)
	if len(bins) < 2 {
		return 0
	}
	observed, expected := make([]float64, len(bins)), make([]float64, len(bins))
	for i, b := range bins {
		expected[i] = b.expected
	}
	for _, x := range samples {
		observed[find(bins, x)]++
	}
	law := distuv.ChiSquared{K: float64(len(bins) - 1)}
	return law.Survival(stat.ChiSquare(observed, expected))
}

// Evidence returns the logarithm, in nats, of the likelihood of independent samples under the right law, divided by their likelihood under
// the wrong law. Samples of the wrong law reach E with a probability of at most e^−E, which for E = [Decisive] is a thousandth. No test
// distinguishes two given laws with fewer draws [Neyman-Pearson 1933].
func Evidence(samples []int64, right, wrong func(int64) float64) (nats float64) {
	for _, x := range samples {
		nats += math.Log(right(x) / wrong(x))
	}
	return nats
}

// A bin has the integers after the last of the bin before it, up to its own last.
type bin struct {
	last     int64
	expected float64
}

// find returns the index of the bin of x. The last bin has no upper end.
func find(bins []bin, x int64) int {
	low, high := 0, len(bins)-1
	for low < high {
		mid := (low + high) / 2
		if x <= bins[mid].last {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// partition merges the support of pmf into bins that each expect enough of n samples. It returns nil if pmf does not sum to 1.
func partition(n float64, pmf func(int64) float64) []bin {
	radius, ok := support(pmf)
	if !ok {
		return nil
	}
	var bins []bin
	below, mass := 0.0, 0.0
	for x := -radius; x <= radius; x++ {
		mass += n * pmf(x)
		if mass >= max(leastExpected, leastShare*min(below, n-below)) {
			bins = append(bins, bin{x, mass})
			below, mass = below+mass, 0
		}
	}
	if len(bins) > 0 {
		bins[len(bins)-1].expected += mass
	}
	return bins
}

// support returns a radius around zero outside which pmf has a mass of at most restMass.
func support(pmf func(int64) float64) (radius int64, ok bool) {
	total := pmf(0)
	for radius = 0; total < 1-restMass; {
		radius++
		if radius > maxSupport {
			return 0, false
		}
		total += pmf(radius) + pmf(-radius)
	}
	return radius, total < 1+restMass && !math.IsNaN(total)
}

// MeanZ returns the difference between the mean of f over the samples and its exact mean under pmf, in standard errors. A test rejects |z|
// > [MaxZ].
func MeanZ(samples []int64, f, pmf func(int64) float64) float64 {
	mean, variance := Moments(f, pmf)
	sum := 0.0
	for _, x := range samples {
		sum += f(x)
	}
	n := float64(len(samples))
	return (sum/n - mean) / math.Sqrt(variance/n)
}

// Moments returns the mean and the variance of f(X), where X has the law pmf, or NaN if pmf does not sum to 1. f should grow no faster than
// a polynomial.
func Moments(f, pmf func(int64) float64) (mean, variance float64) {
	radius, ok := support(pmf)
	if !ok {
		return math.NaN(), math.NaN()
	}
	square := 0.0
	for x := -3 * radius; x <= 3*radius; x++ { // the moments have mass outside the radius
		mean += f(x) * pmf(x)
		square += f(x) * f(x) * pmf(x)
	}
	return mean, square - mean*mean
}
