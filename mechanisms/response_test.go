package mechanisms_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func response(t testing.TB, k, epsilonPico int64) mechanisms.RandomizedResponse {
	t.Helper()
	m, err := mechanisms.NewRandomizedResponse(k, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func boundedMean(t testing.TB, lower, upper, epsilonPico int64) mechanisms.BoundedMean {
	t.Helper()
	m, err := mechanisms.NewBoundedMean(lower, upper, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// responseLaw is the law of k-ary randomised response to x.
func responseLaw(k, x int64, epsilon float64) []float64 {
	law := make([]float64, k)
	for y := range law {
		law[y] = 1 / (math.Exp(epsilon) + float64(k) - 1)
	}
	law[x] *= math.Exp(epsilon)
	return law
}

func TestRandomizedResponseHasItsLaw(t *testing.T) {
	for _, tt := range []struct{ k, x, epsilonPico int64 }{
		{2, 1, 2 * picoUnit}, {2, 0, 3 * picoUnit}, {5, 2, 2*picoUnit + 1}, {1000, 999, 7 * picoUnit},
	} {
		m, v := response(t, tt.k, tt.epsilonPico), mechanisms.Protect(big.NewInt(tt.x))
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			src, epsilon := seeded(t), float64(tt.epsilonPico)/picoUnit
			checkLaw(t, func() int64 { return m.Respond(src, v).Int().Int64() },
				responseLaw(tt.k, tt.x, epsilon), responseLaw(tt.k, tt.x, epsilon*wrong))
			truth, other := m.Law()
			law := responseLaw(tt.k, 0, epsilon)
			if math.Abs(truth-law[0]) > 1e-12*law[0] || math.Abs(other-law[1]) > 1e-12*law[1] {
				t.Errorf("tells %v and %v, not %v and %v", truth, other, law[0], law[1])
			}
		})
	}
}

// TestRandomizedResponseGuarantee needs no neighbours: the ratio of the two
// probabilities is exp(ε), whatever k.
func TestRandomizedResponseGuarantee(t *testing.T) {
	for _, k := range []int64{2, 3, 1000, math.MaxInt64} {
		for _, epsilon := range []float64{0.01, 1, 4} {
			truth, other := response(t, k, int64(epsilon*picoUnit)).Law()
			if ratio := math.Log(truth / other); ratio > epsilon*(1+1e-12) || ratio < 0.99*epsilon {
				t.Errorf("k = %d: ln(p/q) = %v at ε = %v", k, ratio, epsilon)
			}
			if sum := truth + float64(k-1)*other; math.Abs(sum-1) > 1e-12 {
				t.Errorf("k = %d: probabilities sum to %v", k, sum)
			}
		}
	}
}

// TestResponsesTakeAsManyWords counts words at the ends of k and ε, where rejection
// would take up to k tries: whatever is asked, as many.
func TestResponsesTakeAsManyWords(t *testing.T) {
	for _, k := range []int64{2, 3, 1 << 16, math.MaxInt64} {
		for _, epsilonPico := range []int64{1, picoUnit, dp.MaxPico} {
			m := response(t, k, epsilonPico)
			for _, x := range []int64{0, 1, k - 1} {
				src := &counting{src: seeded(t)}
				y := m.Respond(src, mechanisms.Protect(big.NewInt(x))).Int().Int64()
				if want := int(min(k-1, 2)); src.words != want {
					t.Errorf("%v: %d words, want %d", m, src.words, want)
				}
				if y < 0 || y >= k || epsilonPico == dp.MaxPico && y != x {
					t.Errorf("%v: %d for %d", m, y, x)
				}
			}
		}
	}
}

// TestValuesOutOfRangeCountAsTheEnds draws the same words for both.
func TestValuesOutOfRangeCountAsTheEnds(t *testing.T) {
	far := new(big.Int).Lsh(big.NewInt(1), 200)
	pairs := [][2]*big.Int{
		{big.NewInt(-1), big.NewInt(0)},
		{new(big.Int).Neg(far), big.NewInt(0)},
		{big.NewInt(6), big.NewInt(5)},
		{far, big.NewInt(5)},
	}
	categories, numbers := response(t, 6, picoUnit), boundedMean(t, 0, 5, picoUnit)
	for _, pair := range pairs {
		a, b := rand.NewChaCha8([32]byte{1}), rand.NewChaCha8([32]byte{1})
		for range 1000 {
			out, end := categories.Respond(a, mechanisms.Protect(pair[0])), categories.Respond(b, mechanisms.Protect(pair[1]))
			if out.Int().Cmp(end.Int()) != 0 {
				t.Fatalf("%v does not count as %v among categories", pair[0], pair[1])
			}
			out, end = numbers.Respond(a, mechanisms.Protect(pair[0])), numbers.Respond(b, mechanisms.Protect(pair[1]))
			if out.Int().Cmp(end.Int()) != 0 {
				t.Fatalf("%v does not count as %v among numbers", pair[0], pair[1])
			}
		}
	}
}

// bitLaw is the law of the bit of a number at the share x of its bounds.
func bitLaw(x, epsilon float64) []float64 {
	e := math.Exp(epsilon)
	one := 1/(e+1) + x*(e-1)/(e+1)
	return []float64{1 - one, one}
}

func TestBoundedMeanHasItsLaw(t *testing.T) {
	for _, tt := range []struct {
		lower, upper, x, epsilonPico int64
		share                        float64
	}{
		{-10, 30, 30, 2 * picoUnit, 1},
		{-10, 30, -9, 3 * picoUnit, 0.025},
		{math.MinInt64, math.MaxInt64, math.MinInt64 + 1<<58, 3 * picoUnit, 1.0 / 64},
		{100, 101, 100, 3 * picoUnit, 0},
	} {
		m, v := boundedMean(t, tt.lower, tt.upper, tt.epsilonPico), mechanisms.Protect(big.NewInt(tt.x))
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			src, epsilon := seeded(t), float64(tt.epsilonPico)/picoUnit
			checkLaw(t, func() int64 { return m.Respond(src, v).Int().Int64() },
				bitLaw(tt.share, epsilon), bitLaw(tt.share, epsilon*wrong))
		})
	}
	// The guarantee: the bit's law at one bound against that at the other.
	for _, epsilon := range []float64{0.01, 1, 4} {
		low, high := logRatios(bitLaw(0, epsilon), bitLaw(1, epsilon))
		if limit := epsilon * (1 + 1e-12); -low > limit || high > limit || high < 0.99*epsilon {
			t.Errorf("log-ratios from %v to %v at ε = %v", low, high, epsilon)
		}
	}
}

// binomial returns the law of the number of heads among n coins.
func binomial(n int64, p float64) []float64 {
	law := []float64{1}
	for range n {
		next := make([]float64, len(law)+1)
		for i, q := range law {
			next[i] += q * (1 - p)
			next[i+1] += q * p
		}
		law = next
	}
	return law
}

// convolve returns the law of the sum of two independent counts.
func convolve(p, q []float64) []float64 {
	law := make([]float64, len(p)+len(q)-1)
	for i := range p {
		for j := range q {
			law[i+j] += p[i] * q[j]
		}
	}
	return law
}

// spread returns the mean and the standard deviation of f under the law of a count.
func spread(law []float64, f func(int64) float64) (mean, stdDev float64) {
	square := 0.0
	for c, p := range law {
		mean += p * f(int64(c))
		square += p * f(int64(c)) * f(int64(c))
	}
	return mean, math.Sqrt(square - mean*mean)
}

// TestFrequencyIsUnbiased takes its mean and standard deviation under the exact law
// of the count, of n values of which some are in the category.
func TestFrequencyIsUnbiased(t *testing.T) {
	const n, inside = 60, 15
	for _, k := range []int64{2, 3, 40} {
		for _, epsilon := range []float64{0.1, 1, 5} {
			m := response(t, k, int64(epsilon*picoUnit))
			law := responseLaw(k, 0, epsilon)
			count := convolve(binomial(inside, law[0]), binomial(n-inside, law[1]))
			share := func(c int64) float64 {
				x, _, err := m.Frequency(c, n)
				if err != nil {
					t.Fatal(err)
				}
				return x
			}
			mean, stdDev := spread(count, share)
			if math.Abs(mean-inside/float64(n)) > 1e-9 {
				t.Errorf("%v: mean %v, want %v", m, mean, inside/float64(n))
			}
			// The standard error at the expected count is that standard deviation.
			expected := float64(n) * (inside/float64(n)*law[0] + (1-inside/float64(n))*law[1])
			_, stdErr, err := m.Frequency(int64(math.Round(1000*expected)), 1000*n)
			if err != nil || math.Abs(stdErr*math.Sqrt(1000)/stdDev-1) > 0.01 {
				t.Errorf("%v: standard error %v, want %v", m, stdErr*math.Sqrt(1000), stdDev)
			}
		}
	}
}

// TestMeanIsUnbiased does the same for bits, with bounds of which neither is 0, and
// shows that b in place of b − a would be seen.
func TestMeanIsUnbiased(t *testing.T) {
	const n, lower, upper, width = 40, -10, 30, 40.0
	shares := []float64{0, 0, 0.1, 0.5, 0.5, 0.7, 1, 1}
	for _, epsilon := range []float64{0.1, 1, 5} {
		m := boundedMean(t, lower, upper, int64(epsilon*picoUnit))
		count, want, onlyOnes := []float64{1}, 0.0, 0.0
		for _, x := range shares {
			one := bitLaw(x, epsilon)[1]
			count = convolve(count, binomial(n/8, one))
			want += (lower + width*x) / 8
			onlyOnes += n / 8 * one
		}
		estimate := func(c int64) float64 {
			x, _, err := m.Mean(c, n)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		mean, stdDev := spread(count, estimate)
		if math.Abs(mean-want) > 1e-9 {
			t.Errorf("%v: mean %v, want %v", m, mean, want)
		}
		twin, _ := spread(count, func(c int64) float64 {
			return lower + upper*((math.Exp(epsilon)+1)*float64(c)/n-1)/(math.Exp(epsilon)-1)
		})
		if math.Abs(twin-want) < 1 {
			t.Errorf("%v: the mean with b for b − a is %v too", m, twin)
		}
		_, stdErr, err := m.Mean(int64(math.Round(1000*onlyOnes)), 1000*n)
		if ratio := stdErr * math.Sqrt(1000) / stdDev; err != nil || ratio < 0.999 || ratio > 1.6 {
			t.Errorf("%v: standard error %v times the standard deviation %v", m, ratio, stdDev)
		}
	}
}

// TestEstimatesAtTheEnds asks for estimates that no doubles overflow in.
func TestEstimatesAtTheEnds(t *testing.T) {
	for _, epsilonPico := range []int64{1, picoUnit, dp.MaxPico} {
		for _, c := range []int64{0, 1, 50, 100} {
			for _, k := range []int64{2, math.MaxInt64} {
				share, stdErr, err := response(t, k, epsilonPico).Frequency(c, 100)
				if err != nil || math.IsNaN(share+stdErr) || math.IsInf(share+stdErr, 0) || stdErr < 0 {
					t.Errorf("k = %d, ε = %d: %v ± %v, %v", k, epsilonPico, share, stdErr, err)
				}
			}
			mean, stdErr, err := boundedMean(t, math.MinInt64, math.MaxInt64, epsilonPico).Mean(c, 100)
			if err != nil || math.IsNaN(mean+stdErr) || math.IsInf(mean+stdErr, 0) || stdErr < 0 {
				t.Errorf("ε = %d: %v ± %v, %v", epsilonPico, mean, stdErr, err)
			}
		}
	}
}

func TestResponseParameters(t *testing.T) {
	m, b := response(t, 2, picoUnit), boundedMean(t, 0, 1, picoUnit)
	for name, call := range map[string]func() error{
		"one category":   func() error { _, err := mechanisms.NewRandomizedResponse(1, picoUnit); return err },
		"no ε":           func() error { _, err := mechanisms.NewRandomizedResponse(2, 0); return err },
		"too large an ε": func() error { _, err := mechanisms.NewBoundedMean(0, 1, dp.MaxPico+1); return err },
		"no width":       func() error { _, err := mechanisms.NewBoundedMean(1, 1, picoUnit); return err },
		"inverted":       func() error { _, err := mechanisms.NewBoundedMean(1, -1, picoUnit); return err },
		"no responses":   func() error { _, _, err := m.Frequency(0, 0); return err },
		"too many":       func() error { _, _, err := m.Frequency(3, 2); return err },
		"negative":       func() error { _, _, err := b.Mean(-1, 2); return err },
	} {
		if err := call(); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := m.Event().(dp.PureEvent).Epsilon; got.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("ε = %v", got)
	}
	if got := b.Event().(dp.PureEvent).Epsilon; got.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("ε = %v", got)
	}
	if text := fmt.Sprint(m, b); text != "randomized response epsilon=1 k=2 bounded mean epsilon=1 bounds=0 to 1" {
		t.Error(text)
	}
}

// TestResponsesOnTheSystemSource runs one law on the source that ships.
func TestResponsesOnTheSystemSource(t *testing.T) {
	m, src, v := response(t, 3, picoUnit), mechanisms.NewSource(), mechanisms.Protect(big.NewInt(1))
	draw := func() int64 { return m.Respond(src, v).Int().Int64() }
	if p, ok := stattest.Accept(n, draw, listed(responseLaw(3, 1, 1))); !ok {
		t.Errorf("rejected with p = %g", p)
	}
}
