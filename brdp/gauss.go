package brdp

import (
	"math"

	"dpproxy/internal/gausssum"
)

const (
	// termwise is the standard deviation up to which, and the length of a range
	// below which, package gausssum does the sums: it adds weights one by one there.
	termwise = 48
	// steep is the slope of the logarithm of the weights, per integer, from which on
	// a tail has no more than some 400 weights that count.
	steep = 0.1
)

// sumGaussian returns Σ over a ≤ n ≤ b of exp(−(n−h)²/(2v)), where b may be
// infinite, and a: as package gausssum does, but in a time that does not grow with
// √v from 48 on.
func sumGaussian(v, h, a, b float64) float64 {
	switch {
	case v <= termwise*termwise || b-a < termwise || math.Sqrt(v) > short:
		return gausssum.Between(v, h, a, b)
	case b <= h:
		return upper(v, -h, -b) - upper(v, -h, 1-a)
	case a >= h:
		return upper(v, h, a) - upper(v, h, b+1)
	}
	return math.Sqrt(2*math.Pi*v) - upper(v, h, b+1) - upper(v, -h, 1-a)
}

// upper returns Σ over n ≥ m of exp(−(n−h)²/(2v)) by the formula of Euler and
// Maclaurin, g/2 − g′/12 + g‴/720 − g⁽⁵⁾/30240 + g⁽⁷⁾/1209600 beside the integral.
// The next term is below (m−h)⁹/v⁹/4·10⁷, relatively, that is 10⁻¹⁶ as long as
// the slope (m−h)/v is below steep.
func upper(v, h, m float64) float64 {
	if math.IsInf(m, 1) {
		return 0
	}
	sigma := math.Sqrt(v)
	x := (m - h) / sigma
	switch {
	case x < 0:
		return math.Sqrt(2*math.Pi*v) - upper(v, -h, 1-m)
	case x > steep*sigma:
		return gausssum.Between(v, h, m, m+math.Ceil(40/steep))
	}
	square := x * x
	he3 := x * (square - 3)
	he5 := x * (square*(square-10) + 15)
	he7 := x * (square*(square*(square-21)+105) - 105)
	cube := v * sigma
	edge := 0.5 + x/(12*sigma) - he3/(720*cube) + he5/(30240*cube*v) - he7/(1209600*cube*v*v)
	return sigma*math.Sqrt(math.Pi/2)*math.Erfc(x/math.Sqrt2) + math.Exp(-square/2)*edge
}
