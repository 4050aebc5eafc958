package realized

import "math"

// An interval holds a number: low ≤ x ≤ high. Its arithmetic rounds outwards, by more than the
// roundings of doubles and of the functions of package math.
type interval struct{ low, high float64 }

const (
	// ulps is more than the relative error of an operation.
	ulps = 0x1p-50
	// tiny is more than its absolute error where numbers are too small for a relative one.
	tiny = 0x1p-1000
)

// everything holds any number.
var everything = interval{math.Inf(-1), math.Inf(1)}

func point(x float64) interval { return interval{x, x} }

// outwards widens an interval by the error of one operation. A number that is not one may be any.
func outwards(low, high float64) interval {
	low -= math.Abs(low)*ulps + tiny
	high += math.Abs(high)*ulps + tiny
	if !(low <= high) {
		return everything
	}
	return interval{low, high}
}

// finite reports whether both ends are numbers.
func (a interval) finite() bool { return !math.IsInf(a.low, 0) && !math.IsInf(a.high, 0) }

// size returns the largest absolute number of a.
func (a interval) size() float64 { return max(math.Abs(a.low), math.Abs(a.high)) }

func (a interval) neg() interval { return interval{-a.high, -a.low} }

func (a interval) plus(b interval) interval { return outwards(a.low+b.low, a.high+b.high) }

func (a interval) minus(b interval) interval { return outwards(a.low-b.high, a.high-b.low) }

func (a interval) times(b interval) interval {
	w, x, y, z := a.low*b.low, a.low*b.high, a.high*b.low, a.high*b.high
	return outwards(min(w, x, y, z), max(w, x, y, z)) // min and max of a NaN are NaN
}

// inverse encloses 1/x, and is everything where a holds 0.
func (a interval) inverse() interval {
	if a.low <= 0 && a.high >= 0 {
		return everything
	}
	return outwards(1/a.high, 1/a.low)
}

// rising encloses an increasing function.
func (a interval) rising(f func(float64) float64) interval { return outwards(f(a.low), f(a.high)) }

func (a interval) abs() interval {
	switch {
	case a.low >= 0:
		return a
	case a.high <= 0:
		return a.neg()
	}
	return interval{0, a.size()}
}

// power encloses xⁿ, for n ≥ 0. It is tight, as a.times(a) is not.
func (a interval) power(n int) interval {
	if n == 0 {
		return point(1)
	}
	b := a
	if n%2 == 0 {
		b = a.abs()
	}
	low, high := math.Pow(b.low, float64(n)), math.Pow(b.high, float64(n))
	if n == 1 {
		return b
	}
	return outwards(low-math.Abs(low)*float64(n)*ulps, high+math.Abs(high)*float64(n)*ulps)
}

// least and greatest enclose the smaller, and the larger, of two numbers.
func (a interval) least(b interval) interval { return interval{min(a.low, b.low), min(a.high, b.high)} }

func (a interval) greatest(b interval) interval {
	return interval{max(a.low, b.low), max(a.high, b.high)}
}

// logistic returns 1/(1 + exp(−x)).
func logistic(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}
