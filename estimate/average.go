package estimate

import (
	"fmt"
	"math/big"
)

// Values are the public facts about the values whose centred sum is released: S
// = Σ(x − m₀)/Unit with m₀ = (Low + High)/2, over values from Low to High.
type Values struct {
	Low, High *big.Rat
	Unit      *big.Rat // > 0, the value of one in S
}

func (v Values) check() error {
	if v.Low == nil || v.High == nil || v.Unit == nil || v.Low.Cmp(v.High) > 0 || v.Unit.Sign() <= 0 {
		return fmt.Errorf("%w: values from %v to %v in units of %v", ErrParameter, v.Low, v.High, v.Unit)
	}
	return nil
}

// middle returns m₀.
func (v Values) middle() *big.Rat {
	m := new(big.Rat).Add(v.Low, v.High)
	return m.Mul(m, big.NewRat(1, 2))
}

// Average estimates the mean of values from their noisy centred sum S and their
// noisy count N, as
//
//	m₀ + Unit·S/max(N, 1), brought into [Low, High].
//
// A centred value is at most (High − Low)/2 in size, so that less noise covers S
// than covers Σx, and noise in N moves the estimate by its distance from m₀
// alone.
//
// The error of the interval is that of the noise of S and N; the values are those
// that were summed, clamped and rounded to the lattice. S and N must be of the
// same values: where x is NULL it counts in neither.
type Average struct {
	bounds               Interval
	middle, unit         *big.Rat
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
	return Average{
		bounds:     Interval{new(big.Rat).Set(v.Low), new(big.Rat).Set(v.High)},
		middle:     v.middle(),
		unit:       new(big.Rat).Set(v.Unit),
		sumError:   c,
		countError: d,
	}, nil
}

// Value returns the estimate.
func (a Average) Value(sum, count *big.Int) *big.Rat {
	x := new(big.Rat).SetInt(sum)
	x.Quo(x, atLeast(count, 1))
	x.Mul(x, a.unit)
	return a.bounds.nearest(x.Add(x, a.middle))
}

// Interval returns an interval that holds the estimate and, with probability at
// least 1−alpha, the mean, if there is one: the quotients of the box
// [S ± c] / [N ± d], where each of c and d fails with probability alpha/2. A mean
// is of one value at least, so that only N ≥ 1 counts; where the box holds no
// such N, the interval is all of [Low, High].
func (a Average) Interval(sum, count *big.Int) Interval {
	n, ok := rows(count, a.countError, 1)
	if !ok {
		return a.bounds.clamp(a.bounds)
	}
	unit := Interval{a.unit, a.unit}
	quotient, _ := around(sum, a.sumError).Times(unit).Over(n) // n ≥ 1
	return quotient.Plus(Interval{a.middle, a.middle}).clamp(a.bounds)
}

// rows returns the part of [count ± c] that is not below n, or false if there is
// none.
func rows(count *big.Int, c *big.Rat, n int64) (Interval, bool) {
	i := around(count, c)
	first := new(big.Rat).SetInt64(n)
	if i.Upper.Cmp(first) < 0 {
		return Interval{}, false
	}
	return Interval{most(i.Lower, first), i.Upper}, true
}
