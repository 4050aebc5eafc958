package estimate_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/estimate"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// alpha is low enough for a twin of Laplace noise to fail at least twice as often.
const alpha = 0.01

// percent are values from 0 to 100 whose centred sum counts half steps.
var percent = estimate.Values{Low: rat(0, 1), High: rat(100, 1), Unit: rat(1, 2)}

// TestAverageIsAccurate holds the error to its size for a thousand values from 0
// to 100 of mean 69.5 at ρ = 0.01, half for each of sum and count: 0.537 with a
// centred sum, and 1.22 with a plain one.
func TestAverageIsAccurate(t *testing.T) {
	const n, runs = 1000, 20_000
	src := stattest.Source(t)
	count := gaussian(1, 0.005)
	centred, plain := gaussian(100, 0.005), gaussian(100, 0.005)
	a := must(estimate.NewAverage(percent, centred, count, alpha))
	square, plainSquare := 0.0, 0.0
	for range runs {
		noisy := released(count, src, n)
		x, _ := a.Value(released(centred, src, n*39), noisy).Float64() // 69.5 is 39 half steps above 50
		square += (x - 69.5) * (x - 69.5)
		s, _ := new(big.Rat).SetFrac(released(plain, src, 69_500), noisy).Float64()
		plainSquare += (s - 69.5) * (s - 69.5)
	}
	// An RMSE of normal errors has a relative standard error of 1/√(2·runs) = 0.5 %.
	for name, c := range map[string]struct{ got, want float64 }{
		"centred": {math.Sqrt(square / runs), 0.537},
		"plain":   {math.Sqrt(plainSquare / runs), 1.22},
	} {
		t.Logf("%s: RMSE %.4f", name, c.got)
		if math.Abs(c.got/c.want-1) > 0.03 {
			t.Errorf("%s: RMSE %.4f, want %v", name, c.got, c.want)
		}
	}
}

func TestAverageCovers(t *testing.T) {
	for name, c := range map[string]struct {
		sum, count mechanisms.Mechanism
		n, s       int64
		tight      bool // only the error of the sum matters, so that a twin shows
	}{
		"gaussian, in the middle": {gaussian(100, 0.005), gaussian(1, 0.005), 1000, 0, true},
		"laplace, in the middle":  {laplace(100, 0.1), laplace(1, 0.1), 1000, 0, true},
		"gaussian, at the bound":  {gaussian(100, 0.005), gaussian(1, 0.005), 1000, 100_000, false},
		"laplace, off the middle": {laplace(100, 0.1), laplace(1, 0.1), 1000, 39_000, false},
		"few rows":                {gaussian(100, 0.005), gaussian(1, 0.005), 20, 1000, false},
		"one row":                 {laplace(100, 1), laplace(1, 1), 1, -100, false},
		"coarse":                  {laplace(1, 2), laplace(1, 2), 3, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			src := stattest.Source(t)
			mean := rat(c.s, 2*c.n)
			mean.Add(mean, rat(50, 1))
			trial := func(a estimate.Average) func() bool {
				return func() bool {
					return meanWithin(a, released(c.sum, src, c.s), released(c.count, src, c.n)).Contains(mean)
				}
			}
			right := trial(must(estimate.NewAverage(percent, c.sum, c.count, alpha)))
			var twin func() bool
			if c.tight {
				twin = trial(must(estimate.NewAverage(percent, understated{c.sum}, understated{c.count}, alpha)))
			}
			checkCoverage(t, right, twin)
		})
	}
}

// TestAverageIsExact draws values and adds no noise.
func TestAverageIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 100), 1, 50).Draw(t, "values")
		a := must(estimate.NewAverage(percent, silent{}, silent{}, alpha))
		plain, s := int64(0), int64(0)
		for _, x := range values {
			plain += x
			s += 2*x - 100
		}
		n := big.NewInt(int64(len(values)))
		mean := rat(plain, int64(len(values)))
		if got := a.Value(big.NewInt(s), n); got.Cmp(mean) != 0 {
			t.Fatalf("mean %v, want %v", got, mean)
		}
		if i := meanWithin(a, big.NewInt(s), n); i.Lower.Cmp(mean) != 0 || i.Upper.Cmp(mean) != 0 {
			t.Fatalf("interval %v, want %v", i, mean)
		}
	})
}

// constant is noise of at most itself.
type constant float64

func (c constant) Quantile(float64) float64 { return float64(c) }
func (c constant) StdDev() float64          { return float64(c) }

// TestAverageInterval compares the interval with the quotients in its box.
func TestAverageInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, d := rapid.Int64Range(0, 300).Draw(t, "c"), rapid.Int64Range(0, 30).Draw(t, "d")
		s, n := rapid.Int64Range(-3000, 3000).Draw(t, "sum"), rapid.Int64Range(-50, 50).Draw(t, "count")
		a := must(estimate.NewAverage(percent, constant(c), constant(d), alpha))
		i := meanWithin(a, big.NewInt(s), big.NewInt(n))
		if x := a.Value(big.NewInt(s), big.NewInt(n)); !i.Contains(x) {
			t.Fatalf("%v outside %v", x, i)
		}
		if i.Lower.Sign() < 0 || i.Upper.Cmp(rat(100, 1)) > 0 {
			t.Fatalf("%v outside the bounds", i)
		}
		want, ok := box(percent.Unit, rat(50, 1), s, c, n, d)
		if !ok {
			want = between(0, 100)
		}
		if clip(want.Lower).Cmp(i.Lower) != 0 || clip(want.Upper).Cmp(i.Upper) != 0 {
			t.Fatalf("%v, want %v", i, want)
		}
	})
}

// meanWithin is the interval of an average of values with bounds.
func meanWithin(a estimate.Average, sum, count *big.Int) estimate.Interval {
	i, ok := a.Interval(sum, count)
	if !ok {
		panic("values with bounds have an interval")
	}
	return i
}

// box returns the range of centre + unit·S/N over S ± c and each whole N ± d that is not below 1, or
// false if there is none.
func box(unit, centre *big.Rat, s, c, n, d int64) (i estimate.Interval, ok bool) {
	for m := max(1, n-d); m <= n+d; m++ {
		for _, e := range []int64{-c, c} {
			x := rat(s+e, m)
			x.Add(x.Mul(x, unit), centre)
			if !ok || x.Cmp(i.Lower) < 0 {
				i.Lower = x
			}
			if !ok || x.Cmp(i.Upper) > 0 {
				i.Upper = x
			}
			ok = true
		}
	}
	return i, ok
}

// clip brings x into [0, 100].
func clip(x *big.Rat) *big.Rat {
	switch {
	case x.Sign() < 0:
		return rat(0, 1)
	case x.Cmp(rat(100, 1)) > 0:
		return rat(100, 1)
	}
	return x
}

func TestParametersAreRefused(t *testing.T) {
	inverted := estimate.Values{Low: rat(1, 1), High: rat(0, 1), Unit: rat(1, 1)}
	flat := estimate.Values{Low: rat(0, 1), High: rat(1, 1), Unit: rat(0, 1)}
	squares := estimate.Squares{Unit: rat(1, 4), Rounding: rat(0, 1)}
	quiet := estimate.MomentNoise{Count: silent{}, Sum: silent{}, Squares: silent{}}
	endless := constant(math.Inf(1))
	for name, build := range map[string]func() error{
		"inverted bounds":    func() error { _, err := estimate.NewAverage(inverted, silent{}, silent{}, alpha); return err },
		"no unit":            func() error { _, err := estimate.NewAverage(flat, silent{}, silent{}, alpha); return err },
		"nil bounds":         func() error { _, err := estimate.NewAverage(estimate.Values{}, silent{}, silent{}, alpha); return err },
		"no noise of sums":   func() error { _, err := estimate.NewAverage(percent, nil, silent{}, alpha); return err },
		"no noise of counts": func() error { _, err := estimate.NewAverage(percent, silent{}, nil, alpha); return err },
		"alpha 0":            func() error { _, err := estimate.NewAverage(percent, silent{}, silent{}, 0); return err },
		"alpha NaN":          func() error { _, err := estimate.NewAverage(percent, silent{}, silent{}, math.NaN()); return err },
		"alpha 2":            func() error { _, err := estimate.NewAverage(percent, silent{}, silent{}, 2); return err },
		"endless noise":      func() error { _, err := estimate.NewAverage(percent, endless, silent{}, alpha); return err },
		"variance, bounds":   func() error { _, err := estimate.NewVariance(inverted, squares, quiet, alpha); return err },
		"variance, unit": func() error {
			_, err := estimate.NewVariance(percent, estimate.Squares{Unit: rat(0, 1), Rounding: rat(0, 1)}, quiet, alpha)
			return err
		},
		"variance, rounding": func() error {
			_, err := estimate.NewVariance(percent, estimate.Squares{Unit: rat(1, 1), Rounding: rat(-1, 1)}, quiet, alpha)
			return err
		},
		"variance, nil": func() error { _, err := estimate.NewVariance(percent, estimate.Squares{}, quiet, alpha); return err },
		"variance, noise": func() error {
			_, err := estimate.NewVariance(percent, squares, estimate.MomentNoise{}, alpha)
			return err
		},
	} {
		if err := build(); !errors.Is(err, estimate.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
