package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

func unary(t testing.TB, k, epsilonPico int64) mechanisms.UnaryEncoding {
	t.Helper()
	m, err := mechanisms.NewUnaryEncoding(k, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// unaryLaw is the law of all bits together about x.
func unaryLaw(k, x int64, epsilon float64) []float64 {
	q := 1 / (math.Exp(epsilon) + 1)
	law := make([]float64, 1<<k)
	for y := range law {
		law[y] = 1
		for v := range k {
			one := q
			if v == x {
				one = 0.5
			}
			if y>>v&1 == 0 {
				one = 1 - one
			}
			law[y] *= one
		}
	}
	return law
}

func TestUnaryEncodingHasItsLaw(t *testing.T) {
	for _, tt := range []struct{ k, x, epsilonPico int64 }{
		{2, 1, 2 * picoUnit}, {5, 0, picoUnit + 1}, {9, 8, 2 * picoUnit},
	} {
		m, v := unary(t, tt.k, tt.epsilonPico), mechanisms.Protect(big.NewInt(tt.x))
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			src, epsilon := seeded(t), float64(tt.epsilonPico)/picoUnit
			checkLaw(t, func() int64 { return m.Respond(src, v).Int().Int64() },
				unaryLaw(tt.k, tt.x, epsilon), unaryLaw(tt.k, tt.x, epsilon*wrong))
			own, other := m.Law()
			if want := 1 / (math.Exp(epsilon) + 1); own != 0.5 || math.Abs(other-want) > 1e-12*want {
				t.Errorf("tells %v and %v, not ½ and %v", own, other, want)
			}
		})
	}
}

// TestUnaryEncodingGuarantee compares the laws of all pairs of values.
func TestUnaryEncodingGuarantee(t *testing.T) {
	for _, epsilon := range []float64{0.01, 1, 4} {
		for other := range int64(4) {
			low, high := logRatios(unaryLaw(4, 0, epsilon), unaryLaw(4, other, epsilon))
			limit := epsilon * (1 + 1e-12)
			if -low > limit || high > limit || other != 0 && high < 0.99*epsilon {
				t.Errorf("log-ratios from %v to %v at ε = %v", low, high, epsilon)
			}
		}
	}
}

// TestUnaryEncodingTakesAsManyWords whatever the value is, also where it is no category.
func TestUnaryEncodingTakesAsManyWords(t *testing.T) {
	for _, k := range []int64{2, 3, 64, 65, 1000} {
		for _, epsilonPico := range []int64{1, picoUnit, dp.MaxPico} {
			m := unary(t, k, epsilonPico)
			for _, x := range []int64{-1, 0, 1, k - 1, k, math.MaxInt64} {
				src := &counting{src: seeded(t)}
				y := m.Respond(src, mechanisms.Protect(big.NewInt(x))).Int()
				if src.words != int(k)+1 || y.BitLen() > int(k) {
					t.Errorf("%v: %d words for %d, answer %v", m, src.words, x, y)
				}
				if in := min(max(x, 0), k-1); epsilonPico == dp.MaxPico && y.BitLen() > 0 && y.BitLen() != int(in)+1 {
					t.Errorf("%v: %v for %d", m, y, x)
				}
			}
		}
	}
}

// TestUnaryFrequencyIsUnbiased takes its mean and standard deviation under the exact law of the count.
func TestUnaryFrequencyIsUnbiased(t *testing.T) {
	const n, inside = 60, 15
	for _, epsilon := range []float64{0.1, 1, 5} {
		m := unary(t, 40, int64(epsilon*picoUnit))
		q := 1 / (math.Exp(epsilon) + 1)
		count := convolve(binomial(inside, 0.5), binomial(n-inside, q))
		mean, stdDev := spread(count, func(c int64) float64 {
			x, _, err := m.Frequency(c, n)
			if err != nil {
				t.Fatal(err)
			}
			return x
		})
		if math.Abs(mean-inside/float64(n)) > 1e-9 {
			t.Errorf("%v: mean %v, want %v", m, mean, inside/float64(n))
		}
		expected := inside*0.5 + (n-inside)*q
		_, stdErr, err := m.Frequency(int64(math.Round(1000*expected)), 1000*n)
		if err != nil || math.Abs(stdErr*math.Sqrt(1000)/stdDev-1) > 0.01 {
			t.Errorf("%v: standard error %v, want %v", m, stdErr*math.Sqrt(1000), stdDev)
		}
	}
}

// TestPrefersUnary holds the rule against the two standard errors of a rare category.
func TestPrefersUnary(t *testing.T) {
	const n = 1_000_000_000_000
	for _, epsilon := range []float64{0.5, 1, 2, 4} {
		for _, k := range []int64{2, 3, 6, 9, 12, 20, 30, 150, 180, 1000} {
			pico := int64(epsilon * picoUnit)
			direct, encoded := response(t, k, pico), unary(t, k, pico)
			_, q := direct.Law()
			_, first, err := direct.Frequency(int64(q*n), n)
			if err != nil {
				t.Fatal(err)
			}
			_, q = encoded.Law()
			_, second, err := encoded.Frequency(int64(q*n), n)
			if err != nil {
				t.Fatal(err)
			}
			if got := mechanisms.PrefersUnary(k, pico); got != (second < first) {
				t.Errorf("k = %d, ε = %v: %v with the errors %v and %v", k, epsilon, got, first, second)
			}
		}
	}
}

func TestUnaryParameters(t *testing.T) {
	m := unary(t, 2, picoUnit)
	for name, call := range map[string]func() error{
		"one category":   func() error { _, err := mechanisms.NewUnaryEncoding(1, picoUnit); return err },
		"too many":       func() error { _, err := mechanisms.NewUnaryEncoding(1<<20+1, picoUnit); return err },
		"no ε":           func() error { _, err := mechanisms.NewUnaryEncoding(2, 0); return err },
		"too large an ε": func() error { _, err := mechanisms.NewUnaryEncoding(2, dp.MaxPico+1); return err },
		"no answers":     func() error { _, _, err := m.Frequency(0, 0); return err },
		"more than all":  func() error { _, _, err := m.Frequency(3, 2); return err },
	} {
		if err := call(); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := m.Event().(dp.PureEvent).Epsilon; got.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("ε = %v", got)
	}
	if text := m.String(); text != "unary encoding epsilon=1 k=2" {
		t.Error(text)
	}
}

func BenchmarkUnaryEncoding(b *testing.B) {
	m, src, v := unary(b, 100, picoUnit), mechanisms.NewSource(), mechanisms.Protect(big.NewInt(7))
	b.ReportAllocs()
	for b.Loop() {
		m.Respond(src, v)
	}
}
