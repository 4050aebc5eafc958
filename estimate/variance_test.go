package estimate_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/estimate"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// halfSquares are the centred squares of percent in eighths: with y = 2x − 100
// half steps above the middle, (x − 50)² − 1250 is (2y² − 100²)/8.
var halfSquares = estimate.Squares{Unit: rat(1, 8), Rounding: rat(0, 1)}

// moments sums values from 0 to 100.
func moments(values []int64) (n, s, q int64) {
	for _, x := range values {
		y := 2*x - 100
		n, s, q = n+1, s+y, q+2*y*y-10_000
	}
	return n, s, q
}

// variance returns VAR_POP, or VAR_SAMP for less = 1, exactly.
func variance(values []int64, less int64) *big.Rat {
	n, s, square := int64(len(values)), int64(0), int64(0)
	for _, x := range values {
		s, square = s+x, square+x*x
	}
	return rat(n*square-s*s, n*(n-less))
}

func released3(m estimate.MomentNoise, src mechanisms.Source, n, s, q int64) estimate.Moments {
	return estimate.Moments{
		Count:   released(m.Count.(mechanisms.Mechanism), src, n),
		Sum:     released(m.Sum.(mechanisms.Mechanism), src, s),
		Squares: released(m.Squares.(mechanisms.Mechanism), src, q),
	}
}

func TestVarianceIsExact(t *testing.T) {
	quiet := estimate.MomentNoise{Count: silent{}, Sum: silent{}, Squares: silent{}}
	v := must(estimate.NewVariance(percent, halfSquares, quiet, alpha))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 100), 1, 50).Draw(t, "values")
		n, s, q := moments(values)
		m := estimate.Moments{Count: big.NewInt(n), Sum: big.NewInt(s), Squares: big.NewInt(q)}
		want := variance(values, 0)
		if got := v.Population(m); got.Cmp(want) != 0 {
			t.Fatalf("VAR_POP %v, want %v", got, want)
		}
		if i := v.PopulationInterval(m); i.Lower.Cmp(want) != 0 || i.Upper.Cmp(want) != 0 {
			t.Fatalf("VAR_POP in %v, want %v", i, want)
		}
		got, ok := v.Sample(m)
		if ok != (n >= 2) {
			t.Fatalf("VAR_SAMP of %d rows: %v", n, ok)
		}
		if !ok {
			return
		}
		want = variance(values, 1)
		if i := v.SampleInterval(m); got.Cmp(want) != 0 || i.Lower.Cmp(want) != 0 || i.Upper.Cmp(want) != 0 {
			t.Fatalf("VAR_SAMP %v in %v, want %v", got, i, want)
		}
	})
}

// TestCoarseSquares rounds each centred square to a multiple of 10.
func TestCoarseSquares(t *testing.T) {
	quiet := estimate.MomentNoise{Count: silent{}, Sum: silent{}, Squares: silent{}}
	v := must(estimate.NewVariance(percent, estimate.Squares{Unit: rat(10, 1), Rounding: rat(5, 1)}, quiet, alpha))
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 100), 1, 50).Draw(t, "values")
		n, s, _ := moments(values)
		q := int64(0)
		for _, x := range values {
			q += int64(math.RoundToEven(float64((x-50)*(x-50)-1250) / 10))
		}
		m := estimate.Moments{Count: big.NewInt(n), Sum: big.NewInt(s), Squares: big.NewInt(q)}
		if i := v.PopulationInterval(m); !i.Contains(variance(values, 0)) || !i.Contains(v.Population(m)) {
			t.Fatalf("VAR_POP %v, %v in %v", variance(values, 0), v.Population(m), i)
		}
	})
}

// TestVarianceInterval looks for points of the box whose variance is outside the
// interval, and for ends that none comes near.
func TestVarianceInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, label) }
		c, d, e := draw("noise of the count", 0, 60), draw("noise of the sum", 0, 6000), draw("noise of the squares", 0, 300_000)
		n, s, q := draw("count", -20, 200), draw("sum", -9000, 9000), draw("squares", -400_000, 400_000)
		noise := estimate.MomentNoise{Count: constant(c), Sum: constant(d), Squares: constant(e)}
		v := must(estimate.NewVariance(percent, halfSquares, noise, alpha))
		m := estimate.Moments{Count: big.NewInt(n), Sum: big.NewInt(s), Squares: big.NewInt(q)}
		i := v.PopulationInterval(m)
		if !i.Contains(v.Population(m)) {
			t.Fatalf("%v outside %v", v.Population(m), i)
		}
		j := v.SampleInterval(m)
		if x, ok := v.Sample(m); ok && !j.Contains(x) {
			t.Fatalf("%v outside %v", x, j)
		}
		lower, upper := i.Float64()
		sampleLower, sampleUpper := j.Float64()
		least, most := math.Inf(1), math.Inf(-1)
		from, to := 1/float64(n+c), 1/float64(max(1, n-c)) // of 1/N
		sums := []float64{min(max(0, float64(s-d)), float64(s+d))}
		for b := range 21 {
			sums = append(sums, float64(s-d)+float64(d)*float64(b)/10)
		}
		for step := range 1001 {
			r := from + (to-from)*float64(step)/1000
			for _, y := range sums {
				for _, z := range []float64{float64(q - e), float64(q + e)} {
					x := min(max(z/8*r+1250-(y/2*r)*(y/2*r), 0), 2500)
					least, most = min(least, x), max(most, x)
					if n+c >= 1 && (x < lower-1e-9 || x > upper+1e-9) {
						t.Fatalf("%v at %v, %v, %v is outside %v to %v", x, 1/r, y, z, lower, upper)
					}
					if x /= 1 - r; n+c >= 2 && r <= 0.5 && (x < sampleLower-1e-9 || x > sampleUpper+1e-9) {
						t.Fatalf("%v at %v, %v, %v is outside %v to %v", x, 1/r, y, z, sampleLower, sampleUpper)
					}
				}
			}
		}
		if n+c < 1 {
			least, most = 0, 2500
		}
		if least-lower > 1e-6 || upper-most > 20 {
			t.Fatalf("%v to %v, though all is within %v to %v", lower, upper, least, most)
		}
	})
}

func TestVarianceCovers(t *testing.T) {
	gaussians := estimate.MomentNoise{Count: gaussian(1, 0.01), Sum: gaussian(100, 0.01), Squares: gaussian(10_000, 0.01)}
	laplaces := estimate.MomentNoise{Count: laplace(1, 0.2), Sum: laplace(100, 0.2), Squares: laplace(10_000, 0.2)}
	spread := func(n int, values ...int64) []int64 {
		var all []int64
		for i := range n {
			all = append(all, values[i%len(values)])
		}
		return all
	}
	for name, c := range map[string]struct {
		noise  estimate.MomentNoise
		values []int64
		tight  bool // only the error of the squares matters, so that a twin shows
	}{
		"gaussian, half the most": {gaussians, spread(2000, 15, 85), true},
		"laplace, half the most":  {laplaces, spread(2000, 15, 85), true},
		"gaussian, the most":      {gaussians, spread(2000, 0, 100), false},
		"laplace, none":           {laplaces, spread(500, 20), false},
		"uniform":                 {gaussians, spread(1010, 0, 10, 20, 30, 40, 50, 60, 70, 80, 90), false},
		"few rows":                {gaussians, spread(6, 3, 70, 90), false},
		"two rows":                {laplaces, spread(2, 30, 31), false},
	} {
		t.Run(name, func(t *testing.T) {
			src := stattest.Source(t)
			n, s, q := moments(c.values)
			population, sample := variance(c.values, 0), variance(c.values, 1)
			deviation := estimate.Sqrt(sample)
			trial := func(noise estimate.MomentNoise) func() bool {
				v := must(estimate.NewVariance(percent, halfSquares, noise, alpha))
				return func() bool {
					m := released3(c.noise, src, n, s, q)
					i := v.SampleInterval(m)
					if i.Contains(sample) != i.Sqrt().Contains(deviation) {
						t.Fatalf("%v holds %v, and its root does not", i, sample)
					}
					return i.Contains(sample) && v.PopulationInterval(m).Contains(population)
				}
			}
			var twin func() bool
			if c.tight {
				twin = trial(estimate.MomentNoise{
					Count:   understated{c.noise.Count.(mechanisms.Mechanism)},
					Sum:     understated{c.noise.Sum.(mechanisms.Mechanism)},
					Squares: understated{c.noise.Squares.(mechanisms.Mechanism)},
				})
			}
			checkCoverage(t, trial(c.noise), twin)
		})
	}
}

// TestVarianceIsAccurate holds the error of the variance of values that are half
// as spread as can be to that of the noise of the squares alone.
func TestVarianceIsAccurate(t *testing.T) {
	const n, runs = 2000, 10_000
	src := stattest.Source(t)
	noise := estimate.MomentNoise{Count: gaussian(1, 0.01), Sum: gaussian(100, 0.01), Squares: gaussian(10_000, 0.01)}
	v := must(estimate.NewVariance(percent, halfSquares, noise, alpha))
	square := 0.0
	for range runs {
		x, _ := v.Population(released3(noise, src, n, 0, 2*70*70*n-10_000*n)).Float64()
		square += (x - 1225) * (x - 1225)
	}
	want := noise.Squares.(mechanisms.Mechanism).StdDev() / 8 / n
	if got := math.Sqrt(square / runs); math.Abs(got/want-1) > 0.04 { // 5 standard errors are 3.5 %
		t.Errorf("RMSE %v, want %v", got, want)
	}
}

// wholly are percents about a centre, in steps of 1/2, with whole squares in units of a quarter.
func wholly(centre int64) (estimate.Values, estimate.Squares) {
	return estimate.Values{Low: percent.Low, High: percent.High, Centre: rat(centre, 1), Unit: rat(1, 2)},
		estimate.Squares{Unit: rat(1, 4), Rounding: rat(0, 1), Whole: true}
}

// TestWholeSquares has the same variance, and covariance, about whatever centre.
func TestWholeSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(-50, 150).Draw(t, "centre"), rapid.Int64Range(-50, 150).Draw(t, "other centre")
		x, squares := wholly(a)
		y, _ := wholly(b)
		quiet := estimate.MomentNoise{Count: silent{}, Sum: silent{}, Squares: silent{}}
		v := must(estimate.NewVariance(x, squares, quiet, alpha))
		pairs := must(estimate.NewPairs(estimate.PairValues{
			X: x, Y: y, SquaresX: &squares, SquaresY: &squares,
			Products: estimate.Products{Unit: rat(1, 4), Rounding: rat(0, 1)},
		}, quietPairs, alpha))
		var p points
		m := estimate.PairMoments{
			Count: new(big.Int), SumX: new(big.Int), SumY: new(big.Int), Products: new(big.Int),
			SquaresX: new(big.Int), SquaresY: new(big.Int),
		}
		plus := func(to *big.Int, n int64) { to.Add(to, big.NewInt(n)) }
		for range rapid.IntRange(2, 30).Draw(t, "pairs") {
			p.x, p.y = append(p.x, rapid.Int64Range(0, 100).Draw(t, "x")), append(p.y, rapid.Int64Range(0, 100).Draw(t, "y"))
			d, e := 2*(p.x[len(p.x)-1]-a), 2*(p.y[len(p.y)-1]-b)
			plus(m.Count, 1)
			plus(m.SumX, d)
			plus(m.SumY, e)
			plus(m.Products, d*e)
			plus(m.SquaresX, d*d)
			plus(m.SquaresY, e*e)
		}
		want := variance(p.x, 0)
		of := estimate.Moments{Count: m.Count, Sum: m.SumX, Squares: m.SquaresX}
		if got, in := v.Population(of), v.PopulationInterval(of); got.Cmp(want) != 0 || in.Lower.Cmp(want) != 0 || in.Upper.Cmp(want) != 0 {
			t.Fatalf("VAR_POP %v in %v, want %v", got, in, want)
		}
		if got, in := pairs.Covariance(m), pairs.CovarianceInterval(m); got.Cmp(p.covariance(0)) != 0 || !in.Contains(got) {
			t.Fatalf("COVAR_POP %v in %v, want %v", got, in, p.covariance(0))
		}
	})
}

// TestCutMoments weighs values down, and looks for what they were in the interval that has what is missing.
func TestCutMoments(t *testing.T) {
	missed := false
	rapid.Check(t, func(t *rapid.T) {
		x, squares := wholly(rapid.Int64Range(0, 100).Draw(t, "centre"))
		const one = 16 // a row that is not cut
		x.Unit, squares.Unit = rat(1, 2), rat(1, 4)
		v := must(estimate.NewVariance(x, squares, estimate.MomentNoise{Count: silent{}, Sum: silent{}, Squares: silent{}}, alpha))
		var values []int64
		var n, s, q, cutN, cutS, cutQ int64
		for range rapid.IntRange(2, 30).Draw(t, "values") {
			of := rapid.Int64Range(0, 100).Draw(t, "x")
			w := rapid.SampledFrom([]int64{one, one, 5, 0}).Draw(t, "weight")
			centre, _ := x.Centre.Float64()
			d := 2 * (of - int64(centre))
			values = append(values, of)
			n, s, q = n+w, s+w*d, q+w*d*d
			cutN, cutS, cutQ = cutN+one-w, cutS+(one-w)*d, cutQ+(one-w)*d*d
		}
		m := estimate.Moments{Count: big.NewInt(n), Sum: big.NewInt(s), Squares: big.NewInt(q)}
		if n < one {
			return
		}
		cut := estimate.Cut{Count: rat(cutN, 1), Sum: new(big.Rat).Abs(rat(cutS, 1)), Squares: rat(cutQ, 1)}
		want := variance(values, 0)
		if in := cut.Of(v).PopulationInterval(m); !in.Contains(want) {
			t.Fatalf("%v is not in %v", want, in)
		}
		if in := v.PopulationInterval(m); !in.Contains(want) {
			missed = true
		}
	})
	if !missed {
		t.Error("what is missing moves nothing: the test cannot fail")
	}
}
