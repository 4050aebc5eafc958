package estimate_test

import (
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/estimate"
	"dpproxy/internal/stattest"
)

// about returns values without bounds whose sum about a centre counts quarters.
func about(centre int64) estimate.Values {
	return estimate.Values{Centre: rat(centre, 1), Unit: rat(1, 4)}
}

// TestWeightedAverageIsExact draws values, each of which counts in part, about any centre, and adds no
// noise. Weights are in sixteenths.
func TestWeightedAverageIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		centre := rapid.Int64Range(-1000, 1000).Draw(t, "centre")
		values := rapid.SliceOfN(rapid.Int64Range(-1000, 1000), 1, 50).Draw(t, "values")
		weights := rapid.SliceOfN(rapid.Int64Range(0, 16), len(values), len(values)).Draw(t, "weights")
		n, s, total := int64(0), int64(0), int64(0)
		for i, x := range values {
			n, s, total = n+weights[i], s+weights[i]*(x-centre), total+weights[i]*x
		}
		if n < 16 {
			return // less than one row
		}
		v := estimate.Values{Centre: rat(centre, 1), Unit: rat(1, 1), One: rat(16, 1)}
		a := must(estimate.NewAverage(v, silent{}, silent{}, alpha))
		mean := rat(total, n)
		if got := a.Value(big.NewInt(s), big.NewInt(n)); got.Cmp(mean) != 0 {
			t.Fatalf("mean %v, want %v", got, mean)
		}
		i, ok := a.Interval(big.NewInt(s), big.NewInt(n))
		if !ok || i.Lower.Cmp(mean) != 0 || i.Upper.Cmp(mean) != 0 {
			t.Fatalf("interval %v, want %v", i, mean)
		}
	})
}

// TestFreeAverageInterval compares the interval of values without bounds with the quotients in its
// box.
func TestFreeAverageInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		centre := rapid.Int64Range(-100, 100).Draw(t, "centre")
		c, d := rapid.Int64Range(0, 300).Draw(t, "c"), rapid.Int64Range(0, 30).Draw(t, "d")
		s, n := rapid.Int64Range(-3000, 3000).Draw(t, "sum"), rapid.Int64Range(-50, 50).Draw(t, "count")
		a := must(estimate.NewAverage(about(centre), constant(c), constant(d), alpha))
		i, ok := a.Interval(big.NewInt(s), big.NewInt(n))
		want, some := box(rat(1, 4), rat(centre, 1), s, c, n, d)
		if ok != some {
			t.Fatalf("interval %v: %v, want %v", i, ok, some)
		}
		if !ok {
			return
		}
		if i.Lower.Cmp(want.Lower) != 0 || i.Upper.Cmp(want.Upper) != 0 {
			t.Fatalf("%v, want %v", i, want)
		}
		if x := a.Value(big.NewInt(s), big.NewInt(n)); !i.Contains(x) {
			t.Fatalf("%v outside %v", x, i)
		}
	})
}

// TestCentreWithinBounds brings the value into bounds wherever the centre is, and leaves it alone
// without them.
func TestCentreWithinBounds(t *testing.T) {
	type answer struct{ value, least, most int64 }
	for centre, want := range map[int64][2]answer{
		10:  {answer{20, 15, 25}, answer{20, 15, 25}},
		100: {answer{100, 100, 100}, answer{110, 105, 115}},
		-50: {answer{0, 0, 0}, answer{-40, -45, -35}},
	} {
		free := estimate.Values{Centre: rat(centre, 1), Unit: rat(1, 1)}
		bounded := free
		bounded.Low, bounded.High = rat(0, 1), rat(100, 1)
		for k, v := range []estimate.Values{bounded, free} {
			want := want[k]
			a := must(estimate.NewAverage(v, constant(20), silent{}, alpha))
			i, ok := a.Interval(big.NewInt(40), big.NewInt(4))
			value, in := a.Value(big.NewInt(40), big.NewInt(4)), between(want.least, want.most)
			if value.Cmp(rat(want.value, 1)) != 0 || !ok || i.Lower.Cmp(in.Lower) != 0 || i.Upper.Cmp(in.Upper) != 0 {
				t.Errorf("about %d within %v and %v: %v in %v, want %v", centre, v.Low, v.High, value, i, want)
			}
		}
	}
}

// TestCentredAverageCovers releases a thousand values of mean 60 about several centres. The twin of a
// centre near the mean is told of less noise; that of one far from it, of no noise in the count,
// which moves a mean by its distance from the centre.
func TestCentredAverageCovers(t *testing.T) {
	const n, mean = 1000, 60
	sum, count := gaussian(400, 0.005), gaussian(1, 0.005)
	for name, c := range map[string]struct {
		centre int64
		twin   estimate.Average
	}{
		"at the mean": {mean, must(estimate.NewAverage(about(mean), understated{sum}, understated{count}, alpha))},
		"far away":    {-100_000, must(estimate.NewAverage(about(-100_000), sum, silent{}, alpha))},
		"misplaced":   {0, must(estimate.NewAverage(about(mean), sum, count, alpha))},
	} {
		t.Run(name, func(t *testing.T) {
			src := stattest.Source(t)
			covers := func(a estimate.Average) func() bool {
				return func() bool {
					i, ok := a.Interval(released(sum, src, 4*n*(mean-c.centre)), released(count, src, n))
					return ok && i.Contains(rat(mean, 1))
				}
			}
			checkCoverage(t, covers(must(estimate.NewAverage(about(c.centre), sum, count, alpha))), covers(c.twin))
		})
	}
}

// TestMomentsNeedTheMiddle refuses second moments about anything but the middle of bounds, and averages
// about nothing.
func TestMomentsNeedTheMiddle(t *testing.T) {
	quiet := estimate.MomentNoise{Count: silent{}, Sum: silent{}, Squares: silent{}}
	variance := func(v estimate.Values) error {
		_, err := estimate.NewVariance(v, halfSquares, quiet, alpha)
		return err
	}
	pairs := func(v estimate.Values) error {
		of := percents
		of.Y = v
		quiet := estimate.PairNoise{
			Count: silent{}, SumX: silent{}, SumY: silent{}, Products: silent{}, SquaresX: silent{}, SquaresY: silent{},
		}
		_, err := estimate.NewPairs(of, quiet, alpha)
		return err
	}
	average := func(v estimate.Values) error {
		_, err := estimate.NewAverage(v, silent{}, silent{}, alpha)
		return err
	}
	centred, weighted := percent, percent
	centred.Centre, weighted.One = rat(50, 1), rat(16, 1)
	for name, err := range map[string]error{
		"variance without bounds":    variance(about(0)),
		"variance about a centre":    variance(centred),
		"variance of weighted rows":  variance(weighted),
		"pairs without bounds":       pairs(about(0)),
		"pairs about a centre":       pairs(centred),
		"average about nothing":      average(estimate.Values{Unit: rat(1, 1)}),
		"average with one bound":     average(estimate.Values{Low: rat(0, 1), Centre: rat(0, 1), Unit: rat(1, 1)}),
		"average of rows of nothing": average(estimate.Values{Centre: rat(0, 1), Unit: rat(1, 1), One: rat(0, 1)}),
	} {
		if !errors.Is(err, estimate.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"centre and bounds": average(centred), "weights": average(weighted), "no bounds": average(about(0)), "pairs": pairs(percent),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
