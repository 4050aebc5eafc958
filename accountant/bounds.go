package accountant

import "math/big"

const (
	// boundPrecision is the precision, in bits, of the bounds below. Each is on
	// the safe side at any precision; this one makes them tight: the error of a
	// price is below 2⁻²⁴⁰, or below 2⁻⁸⁰ where an argument exceeds farArgument.
	boundPrecision = 256
	// farArgument is where exp(−x) counts as exp(−farArgument), and x/sinh x as 0.
	farArgument = 64
)

// laplaceRho returns an upper bound of the zCDP loss of one coordinate that
// changes by at most shift under discrete Laplace noise. As the bound of x/sinh x
// and of 1 − exp(−x) are lower ones, and the differences exact, it is never
// below the true constant; nor above ½ε².
func laplaceRho(scale *big.Rat, shift int64) *big.Rat {
	rate := new(big.Rat).Inv(scale)
	epsilon := new(big.Rat).Mul(rate, new(big.Rat).SetInt64(shift))
	generic := new(big.Rat).Mul(epsilon, epsilon)
	generic.Mul(generic, big.NewRat(1, 2))

	saved := float(big.ToNegativeInf).Mul(reciprocalSinhcDown(rate), complementExpDown(epsilon))
	exactSaved, _ := saved.Rat(nil)
	exact := epsilon.Sub(epsilon, exactSaved)
	if exact.Cmp(generic) < 0 {
		return exact
	}
	return generic
}

// pureRho returns an upper bound of the zCDP loss of all that is ε-DP,
// ε·tanh(ε/2) = ε·c/(2−c) with c = 1 − exp(−ε).
func pureRho(epsilon *big.Rat) *big.Rat {
	c := complementExpUp(epsilon)
	denominator := float(big.ToNegativeInf).Sub(big.NewFloat(2), c)
	tanh, _ := float(big.ToPositiveInf).Quo(c, denominator).Rat(nil)
	return tanh.Mul(tanh, epsilon)
}

// float returns a zero whose operations round in the direction of mode.
func float(mode big.RoundingMode) *big.Float {
	return new(big.Float).SetPrec(boundPrecision).SetMode(mode)
}

// isFar reports whether x > farArgument.
func isFar(x *big.Rat) bool { return x.Cmp(big.NewRat(farArgument, 1)) > 0 }

// complementExpDown returns a lower bound of 1 − exp(−x), for x > 0. The series
// of exp(x) has positive terms, so that its partial sums, rounded down, are
// lower bounds of exp(x) wherever they end.
func complementExpDown(x *big.Rat) *big.Float {
	if isFar(x) {
		x = big.NewRat(farArgument, 1)
	}
	sum, _ := expSeries(x, big.ToNegativeInf)
	inverse := float(big.ToPositiveInf).Quo(big.NewFloat(1), sum)
	return float(big.ToNegativeInf).Sub(big.NewFloat(1), inverse)
}

// complementExpUp returns an upper bound of 1 − exp(−x), for x > 0.
func complementExpUp(x *big.Rat) *big.Float {
	if isFar(x) {
		return big.NewFloat(1)
	}
	sum, last := expSeries(x, big.ToPositiveInf)
	sum.Add(sum, last) // for all that follow
	inverse := float(big.ToNegativeInf).Quo(big.NewFloat(1), sum)
	return float(big.ToPositiveInf).Sub(big.NewFloat(1), inverse)
}

// expSeries returns the partial sum of exp(x) = Σ xᵏ/k!, rounded by mode at each
// step, for 0 < x ≤ farArgument, up to where terms cease to matter and have begun
// to fall by halves, and its last term.
func expSeries(x *big.Rat, mode big.RoundingMode) (sum, term *big.Float) {
	against := big.ToPositiveInf // for divisors
	if mode == big.ToPositiveInf {
		against = big.ToNegativeInf
	}
	arg := float(mode).SetRat(x)
	halving := 2 * ceil(x, 1).Int64() // from here on each term is at most half of the one before
	term, sum = float(mode).SetInt64(1), float(mode).SetInt64(1)
	for k := int64(1); matters(term) || k <= halving+1; k++ {
		term.Quo(term.Mul(term, arg), float(against).SetInt64(k))
		sum.Add(sum, term)
	}
	return sum, term
}

// reciprocalSinhcDown returns a lower bound of x/sinh x, for x > 0, from an upper
// bound of (sinh x)/x = Σ x²ᵏ/(2k+1)!. The sum ends where each term is less than
// half of the one before, so that the last stands for all that follow.
func reciprocalSinhcDown(x *big.Rat) *big.Float {
	if isFar(x) {
		return float(big.ToNegativeInf)
	}
	square := float(big.ToPositiveInf).SetRat(new(big.Rat).Mul(x, x))
	term, sum := float(big.ToPositiveInf).SetInt64(1), float(big.ToPositiveInf).SetInt64(1)
	for k := int64(1); matters(term) || k < farArgument; k++ {
		term.Quo(term.Mul(term, square), float(big.ToNegativeInf).SetInt64(2*k*(2*k+1)))
		sum.Add(sum, term)
	}
	sum.Add(sum, term)
	return float(big.ToNegativeInf).Quo(big.NewFloat(1), sum)
}

// matters reports whether a term of a series that began with 1 can still be seen
// at the precision of the bounds.
func matters(term *big.Float) bool { return term.Sign() > 0 && term.MantExp(nil) > -boundPrecision }
