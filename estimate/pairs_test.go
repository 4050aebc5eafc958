package estimate_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/estimate"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// percents are pairs of values from 0 to 100 whose products are counted in quarters: with
// u = 2x − 100 and v = 2y − 100 half steps, (x − 50)(y − 50) is uv/4.
var percents = estimate.PairValues{
	X: percent, Y: percent, SquaresX: &halfSquares, SquaresY: &halfSquares,
	Products: estimate.Products{Unit: rat(1, 4), Rounding: rat(0, 1)},
}

type points struct{ x, y []int64 }

// moments sums pairs.
func (p points) moments() (n, s, t, products, squaresX, squaresY int64) {
	for i, x := range p.x {
		u, v := 2*x-100, 2*p.y[i]-100
		products += u * v
	}
	n, s, squaresX = moments(p.x)
	_, t, squaresY = moments(p.y)
	return n, s, t, products, squaresX, squaresY
}

// covariance returns COVAR_POP, or COVAR_SAMP for less = 1, exactly.
func (p points) covariance(less int64) *big.Rat {
	n, s, t, product := int64(len(p.x)), int64(0), int64(0), int64(0)
	for i, x := range p.x {
		s, t, product = s+x, t+p.y[i], product+x*p.y[i]
	}
	return rat(n*product-s*t, n*(n-less))
}

func (p points) exact() estimate.PairMoments {
	n, s, t, products, x, y := p.moments()
	return estimate.PairMoments{
		Count: big.NewInt(n), SumX: big.NewInt(s), SumY: big.NewInt(t),
		Products: big.NewInt(products), SquaresX: big.NewInt(x), SquaresY: big.NewInt(y),
	}
}

func mean(values []int64) *big.Rat {
	sum := int64(0)
	for _, x := range values {
		sum += x
	}
	return rat(sum, int64(len(values)))
}

var quietPairs = estimate.PairNoise{
	Count: silent{}, SumX: silent{}, SumY: silent{}, Products: silent{}, SquaresX: silent{}, SquaresY: silent{},
}

func TestPairsAreExact(t *testing.T) {
	estimator := must(estimate.NewPairs(percents, quietPairs, alpha))
	rapid.Check(t, func(t *rapid.T) {
		var p points
		for range rapid.IntRange(1, 30).Draw(t, "pairs") {
			p.x = append(p.x, rapid.Int64Range(0, 100).Draw(t, "x"))
			p.y = append(p.y, rapid.Int64Range(0, 100).Draw(t, "y"))
		}
		m := p.exact()
		same := func(what string, got, want *big.Rat, in estimate.Interval) {
			if got.Cmp(want) != 0 || in.Lower.Cmp(want) != 0 || in.Upper.Cmp(want) != 0 {
				t.Fatalf("%s: %v in %v, want %v", what, got, in, want)
			}
		}
		covariance := p.covariance(0)
		same("COVAR_POP", estimator.Covariance(m), covariance, estimator.CovarianceInterval(m))
		sample, ok := estimator.Sample(m)
		if ok != (len(p.x) > 1) {
			t.Fatalf("COVAR_SAMP of %d pairs: %v", len(p.x), ok)
		}
		if ok {
			same("COVAR_SAMP", sample, p.covariance(1), estimator.SampleInterval(m))
		}
		slope, ok := estimator.Slope(m)
		if flat := variance(p.x, 0).Sign() == 0; flat == ok {
			t.Fatalf("a slope over equal x: %v", ok)
		}
		if !ok {
			return
		}
		b := new(big.Rat).Quo(covariance, variance(p.x, 0))
		in, _ := estimator.SlopeInterval(m)
		same("REGR_SLOPE", slope, b, in)
		intercept, _ := estimator.Intercept(m)
		in, _ = estimator.InterceptInterval(m)
		same("REGR_INTERCEPT", intercept, new(big.Rat).Sub(mean(p.y), new(big.Rat).Mul(b, mean(p.x))), in)
		c, ok := estimator.Correlation(m)
		if flat := variance(p.y, 0).Sign() == 0; flat == ok {
			t.Fatalf("a correlation with equal y: %v", ok)
		}
		if !ok {
			return
		}
		square := new(big.Rat).Mul(variance(p.x, 0), variance(p.y, 0))
		want, _ := new(big.Rat).Quo(new(big.Rat).Mul(covariance, covariance), square).Float64()
		got, _ := new(big.Rat).Mul(c, c).Float64()
		if d := got - want; d > 1e-9 || d < -1e-9 || c.Sign() != covariance.Sign() || !estimator.CorrelationInterval(m).Contains(c) {
			t.Fatalf("CORR %v in %v, its square should be %v", c, estimator.CorrelationInterval(m), want)
		}
	})
}

// TestPairsWithoutBounds has noise beside which the variance of x may be zero.
func TestPairsWithoutBounds(t *testing.T) {
	noise := quietPairs
	noise.SquaresX = constant(1_000_000)
	estimator := must(estimate.NewPairs(percents, noise, alpha))
	m := points{[]int64{10, 90}, []int64{10, 90}}.exact()
	if in, ok := estimator.SlopeInterval(m); ok {
		t.Errorf("the slope is in %v", in)
	}
	if _, ok := estimator.InterceptInterval(m); ok {
		t.Error("the intercept has bounds")
	}
	if in := estimator.CorrelationInterval(m); in.Lower.Cmp(rat(-1, 1)) != 0 || in.Upper.Cmp(rat(1, 1)) != 0 {
		t.Errorf("the correlation is in %v", in)
	}
}

func TestPairsCover(t *testing.T) {
	var line, cloud points
	for i := range int64(2000) {
		line.x, line.y = append(line.x, i%101), append(line.y, 100-i%101)
		cloud.x, cloud.y = append(cloud.x, 15+70*(i%2)), append(cloud.y, 15+70*(i/2%2))
	}
	noise := estimate.PairNoise{
		Count: gaussian(1, 0.01), SumX: gaussian(100, 0.01), SumY: gaussian(100, 0.01),
		Products: gaussian(10_000, 0.01), SquaresX: gaussian(10_000, 0.01), SquaresY: gaussian(10_000, 0.01),
	}
	for name, p := range map[string]points{"line": line, "cloud": cloud} {
		t.Run(name, func(t *testing.T) {
			src := stattest.Source(t)
			covariance, sample := p.covariance(0), p.covariance(1)
			slope := new(big.Rat).Quo(covariance, variance(p.x, 0))
			intercept := new(big.Rat).Sub(mean(p.y), new(big.Rat).Mul(slope, mean(p.x)))
			correlation := new(big.Rat).Quo(covariance, estimate.Sqrt(new(big.Rat).Mul(variance(p.x, 0), variance(p.y, 0))))
			estimator := must(estimate.NewPairs(percents, noise, alpha))
			checkCoverage(t, func() bool {
				m := noisyPairs(noise, src, p)
				b, ok := estimator.SlopeInterval(m)
				a, _ := estimator.InterceptInterval(m)
				return estimator.CovarianceInterval(m).Contains(covariance) && estimator.SampleInterval(m).Contains(sample) &&
					(!ok || b.Contains(slope) && a.Contains(intercept)) && estimator.CorrelationInterval(m).Contains(correlation)
			}, nil)
		})
	}
}

// TestPairsNotice holds that an interval of understated noise fails: only the products have
// noise, and more than the rest of the interval has room for.
func TestPairsNotice(t *testing.T) {
	p := points{}
	for i := range int64(2000) {
		p.x, p.y = append(p.x, 15+70*(i%2)), append(p.y, 15+70*(i/2%2))
	}
	products := gaussian(10_000, 0.01)
	src, want := stattest.Source(t), p.covariance(0)
	trial := func(tail estimate.Tail) func() bool {
		noise := quietPairs
		noise.Products = tail
		estimator := must(estimate.NewPairs(percents, noise, alpha))
		return func() bool {
			m := p.exact()
			m.Products = released(products, src, m.Products.Int64())
			return estimator.CovarianceInterval(m).Contains(want)
		}
	}
	const halved = 2
	checkCoverage(t, trial(products), trial(told{products, halved}))
}

// told is noise that is told to be so many times less than is drawn.
type told struct {
	mechanisms.Mechanism
	by float64
}

func (t told) Quantile(alpha float64) float64 { return t.Mechanism.Quantile(alpha) / t.by }

func noisyPairs(noise estimate.PairNoise, src mechanisms.Source, p points) estimate.PairMoments {
	n, s, t, products, x, y := p.moments()
	draw := func(tail estimate.Tail, exact int64) *big.Int {
		return released(tail.(mechanisms.Mechanism), src, exact)
	}
	return estimate.PairMoments{
		Count: draw(noise.Count, n), SumX: draw(noise.SumX, s), SumY: draw(noise.SumY, t),
		Products: draw(noise.Products, products), SquaresX: draw(noise.SquaresX, x), SquaresY: draw(noise.SquaresY, y),
	}
}
