package estimate

import (
	"fmt"
	"math/big"
)

// Squares are the public facts about the sum of centred squares,
//
//	Q = Σ((x − m₀)² − h²/2)/Unit with h = (High − Low)/2,
//
// each of whose terms is at most h²/2 in size: half of a square. Unit may be
// much coarser than the square of the values' own.
type Squares struct {
	Unit *big.Rat // > 0, the value of one in Q
	// Whole says that Q is of the squares themselves, without that half, about whatever centre.
	Whole bool
	// Rounding is the most by which rounding to Unit changed one term, 0 if the
	// terms are multiples of Unit. Rounding to the nearest changes Unit/2.
	Rounding *big.Rat
}

// MomentNoise is the noise of the three sums of [Moments].
type MomentNoise struct{ Count, Sum, Squares Tail }

// Moments are three released sums over the same values: their number, their
// centred sum and the sum of their centred squares.
type Moments struct{ Count, Sum, Squares *big.Int }

// Variance estimates the variance of values from [Moments] N, S and Q, in the
// units of [Values] and [Squares], as
//
//	Q/N + h²/2 − (S/N)², brought into [0, h²], with max(N, 1) for N,
//
// and h² is the most that any values from Low to High have. Take [Sqrt] and
// [Interval.Sqrt] for standard deviations: coverage stays.
//
// The error of the intervals is that of the noise in the three sums, and of the
// rounding of the squares; the values are those that were summed, clamped and
// rounded to the lattice. The estimate has a bias of −E[noise of S²]/N², which is
// of a smaller order than its standard deviation and is not corrected.
type Variance struct {
	bounds       Interval // of the population's variance
	half         *big.Rat // h²/2, or 0 of whole squares
	unit, square *big.Rat
	rounding     *big.Rat

	countError, sumError, squareError *big.Rat
	squaresCut                        *big.Rat // by how much more Q may be since limits cut it
}

// Cut is how much limits may have cut off the sums of [Moments], in their units: Count and Squares are missing, Sum on either side.
type Cut struct{ Count, Sum, Squares *big.Rat }

// Of returns the estimator whose intervals hold for the values without limits that cut so much.
func (c Cut) Of(v Variance) Variance {
	v.countError = new(big.Rat).Add(v.countError, c.Count)
	v.sumError = new(big.Rat).Add(v.sumError, c.Sum)
	v.squaresCut = c.Squares
	return v
}

// NewVariance returns the estimator for sums with the given noise, whose
// intervals fail with probability at most alpha, above 0 and below 1.
func NewVariance(v Values, s Squares, noise MomentNoise, alpha float64) (Variance, error) {
	if err := v.checkMoments(s.Whole); err != nil {
		return Variance{}, err
	}
	if s.Unit == nil || s.Rounding == nil || s.Unit.Sign() <= 0 || s.Rounding.Sign() < 0 {
		return Variance{}, fmt.Errorf("%w: squares in units of %v rounded by %v", ErrParameter, s.Unit, s.Rounding)
	}
	var c [3]*big.Rat
	for i, t := range []Tail{noise.Count, noise.Sum, noise.Squares} {
		var err error
		if c[i], err = bound(t, alpha/3); err != nil {
			return Variance{}, err
		}
	}
	h := new(big.Rat).Sub(v.High, v.Low)
	h.Mul(h, big.NewRat(1, 2))
	h.Mul(h, h)
	half := new(big.Rat).Mul(h, big.NewRat(1, 2))
	if s.Whole {
		half.SetInt64(0)
	}
	return Variance{
		bounds:      Interval{new(big.Rat), h},
		half:        half,
		unit:        new(big.Rat).Set(v.Unit),
		square:      new(big.Rat).Set(s.Unit),
		rounding:    new(big.Rat).Set(s.Rounding),
		countError:  c[0],
		sumError:    c[1],
		squareError: c[2],
		squaresCut:  new(big.Rat),
	}, nil
}

// Population returns the estimate of VAR_POP.
func (v Variance) Population(m Moments) *big.Rat {
	t := new(big.Rat).Inv(atLeast(m.Count, 1))
	s := new(big.Rat).Mul(new(big.Rat).SetInt(m.Sum), v.unit)
	q := new(big.Rat).Mul(new(big.Rat).SetInt(m.Squares), v.square)
	return v.bounds.nearest(v.at(q, s, t))
}

// Sample returns the estimate of VAR_SAMP, N/(N−1) times that of VAR_POP, or
// false where N is below two: for one row VAR_SAMP is NULL.
func (v Variance) Sample(m Moments) (*big.Rat, bool) {
	if m.Count.Cmp(big.NewInt(2)) < 0 {
		return nil, false
	}
	n := new(big.Rat).SetInt(m.Count)
	return n.Mul(v.Population(m), bessel(n)), true
}

// PopulationInterval returns an interval that holds the estimate and, with
// probability at least 1−alpha, the variance of the population, if there is one:
// the exact range of the estimate over the box [Q ± c] × [S ± d] × [N ± e], each
// side of which fails with probability alpha/3. Where the box holds no N ≥ 1, it
// is all of [0, h²].
func (v Variance) PopulationInterval(m Moments) Interval {
	return population(m.Count, v.countError, v.bounds, func(n Interval) Interval { return v.over(m, n) })
}

// SampleInterval is PopulationInterval for the variance of the sample, which
// there is for two rows or more; it is within [0, 2h²].
func (v Variance) SampleInterval(m Moments) Interval {
	return sample(m.Count, v.countError, v.bounds, func(n Interval) Interval { return v.over(m, n) })
}

// over returns the range of the population's variance for N in n, n ≥ 1, over
// the errors of the other two sums. In t = 1/N it is q·t − s²·t² + h²/2: largest
// for the largest q and the smallest |s|, where it is a concave parabola in t,
// and smallest for the opposite, at one of the ends of t.
func (v Variance) over(m Moments, n Interval) Interval {
	unit, square := Interval{v.unit, v.unit}, Interval{v.square, v.square}
	s := around(m.Sum, v.sumError).Times(unit)
	q := around(m.Squares, v.squareError)
	q.Upper.Add(q.Upper, v.squaresCut)
	q = q.Times(square)
	far := most(new(big.Rat).Abs(s.Lower), new(big.Rat).Abs(s.Upper))
	near := new(big.Rat)
	if s.Lower.Sign()*s.Upper.Sign() > 0 {
		near = least(new(big.Rat).Abs(s.Lower), new(big.Rat).Abs(s.Upper))
	}
	t := Interval{new(big.Rat).Inv(n.Upper), new(big.Rat).Inv(n.Lower)}
	lower := least(v.at(q.Lower, far, t.Lower), v.at(q.Lower, far, t.Upper))
	upper := v.at(q.Upper, near, t.nearest(vertex(q.Upper, near, t.Upper)))
	return Interval{lower.Sub(lower, v.rounding), upper.Add(upper, v.rounding)}.clamp(v.bounds)
}

// vertex returns the t at which q·t − s²·t² is largest: q/(2s²), or, for s = 0,
// the end for a positive q and below every end otherwise.
func vertex(q, s, end *big.Rat) *big.Rat {
	if s.Sign() == 0 {
		if q.Sign() > 0 {
			return end
		}
		return new(big.Rat)
	}
	double := new(big.Rat).Mul(s, s)
	return double.Quo(q, double.Add(double, double))
}

// at returns q·t − (s·t)² + h²/2.
func (v Variance) at(q, s, t *big.Rat) *big.Rat {
	mean := new(big.Rat).Mul(s, t)
	x := new(big.Rat).Mul(q, t)
	x.Sub(x, mean.Mul(mean, mean))
	return x.Add(x, v.half)
}

// population returns a population's second moment, over any number of rows in [count ± c]. Where
// there may be no row, it is all of the bounds.
func population(count *big.Int, c *big.Rat, bounds Interval, over func(n Interval) Interval) Interval {
	n, ok := rows(count, c, big.NewRat(1, 1))
	if !ok {
		return bounds.clamp(bounds)
	}
	return over(n)
}

// sample returns a sample's second moment likewise, which is the population's times n/(n − 1), and
// at most twice as large as that.
func sample(count *big.Int, c *big.Rat, bounds Interval, over func(n Interval) Interval) Interval {
	n, ok := rows(count, c, big.NewRat(2, 1))
	if !ok {
		two := big.NewRat(2, 1)
		return bounds.Times(Interval{two, two})
	}
	return over(n).Times(Interval{bessel(n.Upper), bessel(n.Lower)})
}

// bessel returns n/(n − 1).
func bessel(n *big.Rat) *big.Rat {
	less := new(big.Rat).Sub(n, big.NewRat(1, 1))
	return less.Quo(n, less)
}
