package estimate

import (
	"fmt"
	"math"
	"math/big"
)

// Values are the public facts about the values whose sum about a centre is
// released: S = Σ(x − Centre)/Unit.
type Values struct {
	// Low and High are the bounds of the values; [Average] takes values that have none, nil.
	Low, High *big.Rat
	// Centre is any number; nil is the middle of the bounds, (Low + High)/2, the only centre of
	// [Variance] whose squares are not whole.
	Centre *big.Rat
	Unit   *big.Rat // > 0, the value of one in S
	// One is what a row adds to the count of an [Average], nil for 1: more on a finer lattice, where
	// rows have weights.
	One *big.Rat
}

// check refuses what describes no values that an average can be of.
func (v Values) check() error {
	bounded := v.Low != nil && v.High != nil && v.Low.Cmp(v.High) <= 0
	free := v.Low == nil && v.High == nil && v.Centre != nil
	if !bounded && !free || v.Unit == nil || v.Unit.Sign() <= 0 || v.One != nil && v.One.Sign() <= 0 {
		return fmt.Errorf("%w: values from %v to %v about %v in units of %v, rows of %v",
			ErrParameter, v.Low, v.High, v.Centre, v.Unit, v.One)
	}
	return nil
}

// checkMoments refuses all values but those within bounds, about their middle unless squares are whole.
func (v Values) checkMoments(whole bool) error {
	if err := v.check(); err != nil {
		return err
	}
	if v.Low == nil || v.Centre != nil && !whole || v.One != nil {
		return fmt.Errorf("%w: second moments about %v, not the middle of bounds", ErrParameter, v.Centre)
	}
	return nil
}

// middle returns the middle of the bounds.
func (v Values) middle() *big.Rat {
	m := new(big.Rat).Add(v.Low, v.High)
	return m.Mul(m, big.NewRat(1, 2))
}

// centre returns a copy of the centre.
func (v Values) centre() *big.Rat {
	if v.Centre == nil {
		return v.middle()
	}
	return new(big.Rat).Set(v.Centre)
}

// one returns a copy of what a row adds to the count.
func (v Values) one() *big.Rat {
	if v.One == nil {
		return big.NewRat(1, 1)
	}
	return new(big.Rat).Set(v.One)
}

// Average estimates the mean of values from their noisy sum S about a centre a
// and their noisy count N, as
//
//	a + Unit·S/max(N, One), brought into [Low, High], if there are bounds.
//
// Noise in N moves the estimate by its distance from a alone. About the middle a
// value is at most (High − Low)/2 away, so that less noise covers S than covers Σx.
//
// Rows may have weights, the same in S and N: the mean is the weighted one then.
// Unit is the value of one in S over what is one in N, a row of weight 1 adds One to
// N, and the interval is that of a mean over a weight of One at least.
//
// The error of the interval is that of the noise of S and N; the values are those
// that were summed, clamped and rounded to the lattice. S and N must be of the
// same values: where x is NULL it counts in neither.
type Average struct {
	bounds               *Interval // nil if there are none
	centre, unit, one    *big.Rat
	sumError, countError *big.Rat
}

// NewAverage returns the estimator for a sum and a count with the given noise,
// whose intervals fail with probability at most alpha, above 0 and below 1.
func NewAverage(v Values, sum, count Tail, alpha float64) (Average, error) {
	if err := v.check(); err != nil {
		return Average{}, err
	}
	c, err := bound(sum, alpha/2)
	if err != nil {
		return Average{}, err
	}
	d, err := bound(count, alpha/2)
	if err != nil {
		return Average{}, err
	}
	a := Average{centre: v.centre(), unit: new(big.Rat).Set(v.Unit), one: v.one(), sumError: c, countError: d}
	if v.Low != nil {
		a.bounds = &Interval{new(big.Rat).Set(v.Low), new(big.Rat).Set(v.High)}
	}
	return a, nil
}

// Value returns the estimate.
func (a Average) Value(sum, count *big.Int) *big.Rat {
	x := new(big.Rat).SetInt(sum)
	x.Quo(x, most(new(big.Rat).SetInt(count), a.one))
	x.Mul(x, a.unit)
	x.Add(x, a.centre)
	if a.bounds == nil {
		return x
	}
	return a.bounds.nearest(x)
}

// Within brings the ends of an interval of the mean into [Low, High], if there are bounds: the mean lies there whatever the noise is.
func (a Average) Within(low, high float64) (float64, float64) {
	if a.bounds == nil {
		return low, high
	}
	least, _ := a.bounds.Lower.Float64()
	most, _ := a.bounds.Upper.Float64()
	in := func(x float64) float64 { return math.Min(math.Max(x, least), most) }
	return in(low), in(high)
}

// Interval returns an interval that holds the estimate and, with probability at
// least 1−alpha, the mean, if there is one: the quotients of the box
// [S ± c] / [N ± d], where each of c and d fails with probability alpha/2. A mean
// is of one value at least, so that only N ≥ One counts. Where the box holds no
// such N, the interval is all of [Low, High], and there is none without bounds.
func (a Average) Interval(sum, count *big.Int) (Interval, bool) {
	n, ok := rows(count, a.countError, a.one)
	if !ok && a.bounds == nil {
		return Interval{}, false
	}
	if !ok {
		return a.bounds.clamp(*a.bounds), true
	}
	quotient, _ := around(sum, a.sumError).Times(point(a.unit)).Over(n) // n > 0
	mean := quotient.Plus(point(a.centre))
	if a.bounds == nil {
		return mean, true
	}
	return mean.clamp(*a.bounds), true
}

// within is Interval for values that have bounds.
func (a Average) within(sum, count *big.Int) Interval {
	i, _ := a.Interval(sum, count)
	return i
}

// rows returns the part of [count ± c] that is not below the first, or false if there
// is none.
func rows(count *big.Int, c, first *big.Rat) (Interval, bool) {
	i := around(count, c)
	if i.Upper.Cmp(first) < 0 {
		return Interval{}, false
	}
	return Interval{most(i.Lower, first), i.Upper}, true
}

// point returns the interval of one number.
func point(x *big.Rat) Interval { return Interval{x, x} }
