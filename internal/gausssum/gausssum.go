// Package gausssum sums Gaussian weights over ranges of integers,
//
//	Σ over m ≤ n ≤ b of exp(−(n−h)²/(2v)),
//
// to a relative 10⁻¹¹, whatever the width. It sums term by term if the terms are few, and uses the formula of Euler and Maclaurin
// otherwise. It serves the tails, quantiles and divergences of discrete Gaussian noise.
package gausssum

import "math"

const (
	// narrow is the standard deviation up to which weights are summed one by one.
	narrow = 512
	// reach is how far from the centre, in standard deviations, a weight still matters compared with the largest weight.
	reach = 9
	// scaleReach bounds m in the asymptotic formula: beyond this many standard
	// deviations the weights vanish in doubles.
	scaleReach = 39
)

// Upper returns Σ over integers n ≥ m of exp(−(n−h)²/(2v)), for v > 0 and an
// integer m. The result is relative to the weights themselves, so that far tails
// keep their digits until they vanish below 10⁻³⁰⁰.
func Upper(v, h, m float64) float64 {
	sigma := math.Sqrt(v)
	switch {
	case math.IsInf(m, 1):
		return 0
	case sigma <= narrow:
		return upperTerms(v, h, m)
	case m-h < -scaleReach*sigma:
		return Total(v, h)
	case m-h > scaleReach*sigma:
		return 0
	}
	return upperAsymptotic(v, h, m)
}

// Between returns Σ over integers a ≤ n ≤ b of exp(−(n−h)²/(2v)), for v > 0 and integers a, b, either of which may be infinite. If b < a,
// it is 0. It sums on the side of h on which no digits cancel. The exception is a range of more than 512 integers that is much shorter than
// √v: its relative error is about 10⁻¹⁵·√v/(b−a).
func Between(v, h, a, b float64) float64 {
	switch {
	case b < a:
		return 0
	case b-a < narrow:
		return terms(v, h, a, b)
	case b <= h:
		return Upper(v, -h, -b) - Upper(v, -h, 1-a)
	case a >= h:
		return Upper(v, h, a) - Upper(v, h, b+1)
	}
	return Total(v, h) - Upper(v, h, b+1) - Upper(v, -h, 1-a)
}

// Total returns Σ over all integers n of exp(−(n−h)²/(2v)).
func Total(v, h float64) float64 {
	if v >= 4 {
		return math.Sqrt(2 * math.Pi * v) // Poisson summation: the rest is below 3·exp(−2π²v)
	}
	middle := math.Floor(h)
	return upperTerms(v, h, middle+1) + upperTerms(v, -h, -middle)
}

// terms sums weights from b down to a, which may be so large that doubles of this size are all even.
func terms(v, h, a, b float64) float64 {
	sum := 0.0
	for i := b - a; i >= 0; i-- {
		sum += weight(v, a-h+i)
	}
	return sum
}

// upperTerms is Upper, summed term by term: from m, or from the first weight that matters, to the last weight that matters compared with
// the largest one.
func upperTerms(v, h, m float64) float64 {
	span := reach * math.Sqrt(v)
	first := math.Max(m, math.Floor(h-span))
	// Weights fall faster beyond the centre than near it, so span bounds both sides.
	last := math.Ceil(math.Max(first, h)+span) + 1
	return terms(v, h, first, last)
}

// upperAsymptotic is Upper by the formula of Euler and Maclaurin: with the
// weight g and its derivatives at m, the integral from m, plus
// g/2 − g′/12 + g‴/720 − g⁽⁵⁾/30240. As (m−h)/v is at most scaleReach/narrow,
// the next term is below 10⁻¹² of the sum.
func upperAsymptotic(v, h, m float64) float64 {
	sigma := math.Sqrt(v)
	x := (m - h) / sigma
	g := math.Exp(-x * x / 2)
	integral := sigma * math.Sqrt(math.Pi/2) * math.Erfc(x/math.Sqrt2)
	// With y = (n−h)/σ, the k-th derivative of the weight is (−1)ᵏ·Heₖ(y)·weight/σᵏ.
	he3 := x * (x*x - 3)
	he5 := x * (x*x*(x*x-10) + 15)
	return integral + g*(0.5+x/(12*sigma)-he3/(720*sigma*sigma*sigma)+he5/(30240*math.Pow(sigma, 5)))
}

// weight returns exp(−d²/(2v)).
func weight(v, d float64) float64 { return math.Exp(-d * d / (2 * v)) }
