package accountant

import (
	"errors"
	"fmt"
	"math/big"

	"dpproxy/dp"
)

// ErrNoFinitePrice is wrapped by the errors for an event that no finite loss of
// the measure covers.
var ErrNoFinitePrice = errors.New("accountant: the event has no finite price in this measure")

// ErrEvent is wrapped by the errors for an event that is unknown or malformed.
var ErrEvent = errors.New("accountant: an event that cannot be priced")

// Price returns a loss under m that covers e, rounded up to 10⁻¹². Events come
// from mechanisms; one that Price does not know, or whose numbers make no sense,
// is refused, never free. With ε = L1/scale, the prices are
//
//	Laplace, PureDP:   ε
//	Laplace, ZCDP:     L0·(e·Δ − (e/sinh e)·(1 − exp(−e·Δ))), e = 1/scale, Δ = LInf
//	Gaussian, ZCDP:    L2²/(2·variance)
//	Gaussian, PureDP:  ErrNoFinitePrice
//	a composition:     the sum of its parts
//
// The second is the largest Kullback-Leibler divergence of a coordinate, to
// which the Rényi divergences of order α divided by α are at most equal
// [Harrison-Manurangsi 2026]; it is below ½(eΔ)² [Bun-Steinke 2016]. The third is
// [CKS 2020, Theorem 4].
func Price(e dp.Event, m dp.Measure) (dp.Loss, error) {
	if m != dp.PureDP && m != dp.ZCDP {
		return dp.Loss{}, dp.ErrMeasure
	}
	switch e := e.(type) {
	case dp.LaplaceEvent:
		return priceLaplace(e, m)
	case dp.GaussianEvent:
		return priceGaussian(e, m)
	case dp.ComposedEvent:
		return priceComposed(e, m)
	}
	return dp.Loss{}, fmt.Errorf("%w: %T is unknown", ErrEvent, e)
}

func priceLaplace(e dp.LaplaceEvent, m dp.Measure) (dp.Loss, error) {
	if !e.Sensitivity.Valid() || e.Scale == nil || e.Scale.Sign() <= 0 {
		return dp.Loss{}, fmt.Errorf("%w: Laplace noise without a sensitivity or a scale", ErrEvent)
	}
	if m == dp.PureDP {
		return lossUp(m, new(big.Rat).Quo(new(big.Rat).SetInt(e.Sensitivity.L1()), e.Scale))
	}
	coordinate := laplaceRho(e.Scale, e.Sensitivity.LInf)
	return lossUp(m, coordinate.Mul(coordinate, new(big.Rat).SetInt64(e.Sensitivity.L0)))
}

func priceGaussian(e dp.GaussianEvent, m dp.Measure) (dp.Loss, error) {
	if !e.Sensitivity.Valid() || e.Variance == nil || e.Variance.Sign() <= 0 {
		return dp.Loss{}, fmt.Errorf("%w: Gaussian noise without a sensitivity or a variance", ErrEvent)
	}
	if m == dp.PureDP {
		return dp.Loss{}, fmt.Errorf("%w: Gaussian noise under pure differential privacy", ErrNoFinitePrice)
	}
	twice := new(big.Int).Lsh(e.Variance, 1)
	return lossUp(m, new(big.Rat).SetFrac(e.Sensitivity.L2Squared(), twice))
}

func priceComposed(parts dp.ComposedEvent, m dp.Measure) (dp.Loss, error) {
	total := dp.Zero(m)
	for _, part := range parts {
		loss, err := Price(part, m)
		if err != nil {
			return dp.Loss{}, err
		}
		if total, err = total.Plus(loss); err != nil {
			return dp.Loss{}, err
		}
	}
	return total, nil
}

// lossUp returns the least loss that is at least x.
func lossUp(m dp.Measure, x *big.Rat) (dp.Loss, error) {
	picos := new(big.Int).Mul(x.Num(), big.NewInt(dp.PicoPerUnit))
	picos.Add(picos, x.Denom()).Sub(picos, big.NewInt(1)).Quo(picos, x.Denom())
	if !picos.IsInt64() {
		return dp.Loss{}, dp.ErrOverflow
	}
	return dp.NewLoss(m, picos.Int64(), 0)
}

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
	arg := float(big.ToNegativeInf).SetRat(x)
	term, sum := float(big.ToNegativeInf).SetInt64(1), float(big.ToNegativeInf).SetInt64(1)
	for k := int64(1); matters(term); k++ {
		term.Quo(term.Mul(term, arg), float(big.ToPositiveInf).SetInt64(k))
		sum.Add(sum, term)
	}
	inverse := float(big.ToPositiveInf).Quo(big.NewFloat(1), sum)
	return float(big.ToNegativeInf).Sub(big.NewFloat(1), inverse)
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
