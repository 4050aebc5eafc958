package estimate

import (
	"fmt"
	"math/big"
)

// Products are the public facts about the sum of centred products,
//
//	P = Σ(x − m₀)(y − n₀)/Unit with m₀ and n₀ the centres of x and y.
type Products struct {
	Unit *big.Rat // > 0, the value of one in P
	// Rounding is the most by which rounding to Unit changed one term.
	Rounding *big.Rat
}

// PairValues are the public facts about pairs of values. Squares are of the values
// whose variance is asked for, and nil for others.
type PairValues struct {
	X, Y               Values
	Products           Products
	SquaresX, SquaresY *Squares
}

// PairNoise is the noise of the sums of [PairMoments].
type PairNoise struct {
	Count, SumX, SumY, Products Tail
	SquaresX, SquaresY          Tail // nil where there are no squares
}

// PairMoments are released sums over the same pairs, in which no value is NULL: their number,
// the centred sums of both values, of their products and of their squares.
type PairMoments struct {
	Count, SumX, SumY, Products *big.Int
	SquaresX, SquaresY          *big.Int // nil where there are no squares
}

// Pairs estimates the covariance of pairs of values from [PairMoments] N, S, T and P, as
//
//	P/N − (S/N)(T/N), brought into [−h·k, h·k], with max(N, 1) for N
//
// and h and k half the ranges of x and y, and two estimates that follow from it and the
// variances: the correlation, and the line y = a + b·x of least squares.
//
// The error of the intervals is that of the noise in the sums, each of which fails with an
// equal part of alpha, and of rounding; the values are those that were summed, clamped and
// rounded to the lattice. The intervals are computed from those of the parts, and wider than
// they need be.
type Pairs struct {
	bounds               Interval // of the covariance
	meanX, meanY         Average
	varianceX, varianceY *Variance // nil without squares
	count, products      *big.Rat  // the errors of N and P
	unit, rounding       *big.Rat
}

// NewPairs returns the estimator for sums with the given noise, whose intervals fail with
// probability at most alpha, above 0 and below 1.
func NewPairs(v PairValues, noise PairNoise, alpha float64) (Pairs, error) {
	if p := v.Products; p.Unit == nil || p.Rounding == nil || p.Unit.Sign() <= 0 || p.Rounding.Sign() < 0 {
		return Pairs{}, fmt.Errorf("%w: products in units of %v rounded by %v", ErrParameter, p.Unit, p.Rounding)
	}
	for _, values := range []Values{v.X, v.Y} {
		if err := values.checkMoments(true); err != nil {
			return Pairs{}, err
		}
	}
	each := alpha / float64(v.sums())
	out := Pairs{unit: new(big.Rat).Set(v.Products.Unit), rounding: new(big.Rat).Set(v.Products.Rounding)}
	var err error
	if out.meanX, err = NewAverage(v.X, noise.SumX, noise.Count, 2*each); err != nil {
		return Pairs{}, err
	}
	if out.meanY, err = NewAverage(v.Y, noise.SumY, noise.Count, 2*each); err != nil {
		return Pairs{}, err
	}
	if out.varianceX, err = newVariance(v.X, v.SquaresX, MomentNoise{noise.Count, noise.SumX, noise.SquaresX}, 3*each); err != nil {
		return Pairs{}, err
	}
	if out.varianceY, err = newVariance(v.Y, v.SquaresY, MomentNoise{noise.Count, noise.SumY, noise.SquaresY}, 3*each); err != nil {
		return Pairs{}, err
	}
	if out.count, err = bound(noise.Count, each); err != nil {
		return Pairs{}, err
	}
	if out.products, err = bound(noise.Products, each); err != nil {
		return Pairs{}, err
	}
	most := new(big.Rat).Mul(v.X.half(), v.Y.half())
	out.bounds = Interval{new(big.Rat).Neg(most), most}
	return out, nil
}

// PairCut is how much limits may have cut off the sums of [PairMoments]: X and Y have the same Count.
type PairCut struct {
	X, Y     Cut
	Products *big.Rat
}

// Of returns the estimator whose intervals hold for the pairs without limits that cut so much.
func (c PairCut) Of(p Pairs) Pairs {
	p.meanX, p.meanY = c.X.ofMean(p.meanX), c.Y.ofMean(p.meanY)
	if p.varianceX != nil {
		v := c.X.Of(*p.varianceX)
		p.varianceX = &v
	}
	if p.varianceY != nil {
		v := c.Y.Of(*p.varianceY)
		p.varianceY = &v
	}
	p.count = new(big.Rat).Add(p.count, c.X.Count)
	p.products = new(big.Rat).Add(p.products, c.Products)
	return p
}

func (c Cut) ofMean(a Average) Average {
	a.countError = new(big.Rat).Add(a.countError, c.Count)
	a.sumError = new(big.Rat).Add(a.sumError, c.Sum)
	return a
}

// sums is how many sums were released.
func (v PairValues) sums() int {
	n := 4
	for _, s := range []*Squares{v.SquaresX, v.SquaresY} {
		if s != nil {
			n++
		}
	}
	return n
}

func newVariance(v Values, s *Squares, noise MomentNoise, alpha float64) (*Variance, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // there are no squares
	}
	out, err := NewVariance(v, *s, noise, alpha)
	return &out, err
}

// half returns half the range of the values.
func (v Values) half() *big.Rat {
	h := new(big.Rat).Sub(v.High, v.Low)
	return h.Mul(h, big.NewRat(1, 2))
}

// Covariance returns the estimate of COVAR_POP.
func (p Pairs) Covariance(m PairMoments) *big.Rat {
	x := new(big.Rat).Mul(new(big.Rat).SetInt(m.Products), p.unit)
	x.Quo(x, atLeast(m.Count, 1))
	return p.bounds.nearest(x.Sub(x, new(big.Rat).Mul(p.meanX.distance(m.SumX, m.Count), p.meanY.distance(m.SumY, m.Count))))
}

// distance returns the estimate of the mean's distance from the centre.
func (a Average) distance(sum, count *big.Int) *big.Rat {
	v := a.Value(sum, count)
	return v.Sub(v, a.centre)
}

// Sample returns the estimate of COVAR_SAMP, N/(N−1) times that of COVAR_POP, or false where
// N is below two: for one pair COVAR_SAMP is NULL.
func (p Pairs) Sample(m PairMoments) (*big.Rat, bool) {
	if !m.several() {
		return nil, false
	}
	x := p.Covariance(m)
	return x.Mul(x, bessel(new(big.Rat).SetInt(m.Count))), true
}

// CovarianceInterval returns an interval that holds the estimate and, with probability at
// least 1−alpha, the covariance of the population, if there is one. Where there may be no
// pair, it is all that a covariance can be.
func (p Pairs) CovarianceInterval(m PairMoments) Interval {
	return population(m.Count, p.count, p.bounds, func(n Interval) Interval { return p.over(m, n) })
}

// SampleInterval is CovarianceInterval for the covariance of the sample, which there is for two
// pairs or more; it is within twice the bounds of the population's.
func (p Pairs) SampleInterval(m PairMoments) Interval {
	return sample(m.Count, p.count, p.bounds, func(n Interval) Interval { return p.over(m, n) })
}

// over returns an interval of the covariance for N in n, n ≥ 1.
func (p Pairs) over(m PairMoments, n Interval) Interval {
	products, _ := around(m.Products, p.products).Times(Interval{p.unit, p.unit}).Over(n) // n ≥ 1
	rounded := Interval{new(big.Rat).Neg(p.rounding), p.rounding}
	return products.Plus(rounded).Minus(p.meanX.distances(m.SumX, m.Count).Times(p.meanY.distances(m.SumY, m.Count))).clamp(p.bounds)
}

// distances returns the interval of the mean's distance from the centre.
func (a Average) distances(sum, count *big.Int) Interval {
	return a.within(sum, count).Minus(point(a.centre))
}

// several reports whether there are two pairs, below which there is no line.
func (m PairMoments) several() bool { return m.Count.Cmp(big.NewInt(2)) >= 0 }

func (m PairMoments) x() Moments { return Moments{m.Count, m.SumX, m.SquaresX} }

func (m PairMoments) y() Moments { return Moments{m.Count, m.SumY, m.SquaresY} }

// Correlation returns the estimate of CORR, the covariance over the root of both variances,
// from −1 to 1; false below two pairs and where one of the variances is estimated as zero. It
// needs both squares.
func (p Pairs) Correlation(m PairMoments) (*big.Rat, bool) {
	v := p.varianceX.Population(m.x())
	if v.Mul(v, p.varianceY.Population(m.y())); v.Sign() <= 0 || !m.several() {
		return nil, false
	}
	c := p.Covariance(m)
	return unitInterval.nearest(c.Quo(c, Sqrt(v))), true
}

var unitInterval = Interval{big.NewRat(-1, 1), big.NewRat(1, 1)}

// CorrelationInterval returns an interval that holds the estimate and, with probability at
// least 1−alpha, the correlation, if there is one.
func (p Pairs) CorrelationInterval(m PairMoments) Interval {
	root := p.varianceX.PopulationInterval(m.x()).Times(p.varianceY.PopulationInterval(m.y())).Sqrt()
	c, ok := p.CovarianceInterval(m).Over(root)
	if !ok {
		return unitInterval.clamp(unitInterval)
	}
	return c.clamp(unitInterval)
}

// Determination returns the estimate of REGR_R2, the square of the correlation; false where there
// is none.
func (p Pairs) Determination(m PairMoments) (*big.Rat, bool) {
	c, ok := p.Correlation(m)
	if !ok {
		return nil, false
	}
	return c.Mul(c, c), true
}

// DeterminationInterval is CorrelationInterval for the square.
func (p Pairs) DeterminationInterval(m PairMoments) Interval {
	c := p.CorrelationInterval(m)
	upper := most(new(big.Rat).Abs(c.Lower), new(big.Rat).Abs(c.Upper))
	lower := new(big.Rat)
	if c.Lower.Sign()*c.Upper.Sign() > 0 {
		lower = least(new(big.Rat).Abs(c.Lower), new(big.Rat).Abs(c.Upper))
	}
	return Interval{lower.Mul(lower, lower), upper.Mul(upper, upper)}
}

// Slope returns the estimate of REGR_SLOPE(y, x), the covariance over the variance of x; false
// below two pairs and where that is estimated as zero. It needs the squares of x.
func (p Pairs) Slope(m PairMoments) (*big.Rat, bool) {
	v := p.varianceX.Population(m.x())
	if v.Sign() <= 0 || !m.several() {
		return nil, false
	}
	return v.Quo(p.Covariance(m), v), true
}

// SlopeInterval returns an interval that holds the estimate and, with probability at least
// 1−alpha, the slope, if there is one; false where the variance of x may be zero, so that
// nothing bounds the slope.
func (p Pairs) SlopeInterval(m PairMoments) (Interval, bool) {
	return p.CovarianceInterval(m).Over(p.varianceX.PopulationInterval(m.x()))
}

// Intercept returns the estimate of REGR_INTERCEPT(y, x), where the line of least squares is
// at x = 0; false where there is no slope.
func (p Pairs) Intercept(m PairMoments) (*big.Rat, bool) {
	b, ok := p.Slope(m)
	if !ok {
		return nil, false
	}
	a := p.meanY.Value(m.SumY, m.Count)
	return a.Sub(a, b.Mul(b, p.meanX.Value(m.SumX, m.Count))), true
}

// InterceptInterval is SlopeInterval for the intercept.
func (p Pairs) InterceptInterval(m PairMoments) (Interval, bool) {
	b, ok := p.SlopeInterval(m)
	if !ok {
		return Interval{}, false
	}
	return p.meanY.within(m.SumY, m.Count).Minus(b.Times(p.meanX.within(m.SumX, m.Count))), true
}
