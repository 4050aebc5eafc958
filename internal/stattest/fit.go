package stattest

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// Level is the p-value below which one chi-square test rejects.
	Level = 1e-8
	// MaxZ is the |z| above which one z-test rejects, at p = 2·10⁻⁹. A twin must be so far beyond it that chance does not
	// bring it back: by six more.
	MaxZ = 6

	// Decisive is the [Evidence] from where on a law is told apart from another. Of E nats on average samples have E − 5·√(2E) but
	// for one test in three million: a test draws so many that it is 65 or more.
	Decisive = 7

	// leastExpected is the least expectation of a bin, from where on the
	// chi-square law describes it well enough.
	leastExpected = 10
	// leastShare is the least share of the mass outside a bin, on its nearer
	// side, that the bin has itself. It keeps the number of bins, and so the
	// noise of the test, near 400 for wide laws, and fine bins in the tails.
	leastShare = 0.05
	// restMass is the mass left outside the scanned support. It adds less than
	// a thousandth of a draw to the outermost bins.
	restMass = 1e-10
	// maxSupport bounds the scan of a pmf that does not sum to one.
	maxSupport = 1 << 24
)

// Accept draws n values and tests them against pmf. When they are rejected it
// tests 4n fresh ones, so that a right sampler fails with probability Level²,
// 10⁻¹⁶, and one that is wrong still fails. It returns the last p-value.
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

// Fit returns the p-value of a chi-square test of independent samples against
// an exact probability mass function on the integers: the probability that
// samples of that law deviate as much. Neighbouring integers are merged until a
// bin expects ten samples, and more in the middle of a wide law. A pmf that does not sum to one has p-value 0, and so
// have samples too few to make two bins.
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

// Evidence returns how much likelier independent samples are under the right law than under a wrong one, as the
// logarithm of the ratio, in nats. Samples of the wrong law reach E with a probability of e^−E at most: [Decisive] of them
// are one in a thousand. No test tells two given laws apart with fewer draws [Neyman-Pearson 1933].
func Evidence(samples []int64, right, wrong func(int64) float64) (nats float64) {
	for _, x := range samples {
		nats += math.Log(right(x) / wrong(x))
	}
	return nats
}

// A bin holds the integers above the last of the bin before it, up to its own.
type bin struct {
	last     int64
	expected float64
}

// find returns the index of the bin that holds x; the last bin has no upper end.
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

// partition merges the support of pmf into bins that expect enough of n samples
// each, or returns nil if pmf does not sum to one.
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

// support returns a radius around zero that holds all but restMass of pmf.
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

// MeanZ returns how many standard errors the mean of f over the samples is from
// its exact mean under pmf. A test rejects |z| > [MaxZ].
func MeanZ(samples []int64, f, pmf func(int64) float64) float64 {
	mean, variance := Moments(f, pmf)
	sum := 0.0
	for _, x := range samples {
		sum += f(x)
	}
	n := float64(len(samples))
	return (sum/n - mean) / math.Sqrt(variance/n)
}

// Moments returns the mean and the variance of f(X), X of law pmf, or NaN if pmf
// does not sum to one. f should grow no faster than a polynomial.
func Moments(f, pmf func(int64) float64) (mean, variance float64) {
	radius, ok := support(pmf)
	if !ok {
		return math.NaN(), math.NaN()
	}
	square := 0.0
	for x := -3 * radius; x <= 3*radius; x++ { // far beyond the mass, for the moments
		mean += f(x) * pmf(x)
		square += f(x) * f(x) * pmf(x)
	}
	return mean, square - mean*mean
}
