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
// is refused, never free. With Δ = LInf, a rate e = 1/scale and ε = e·L1:
//
//	event          PureDP                   ZCDP
//	Laplace        ε                        L0·(e·Δ − (e/sinh e)·(1 − exp(−e·Δ)))
//	Gaussian       none                     L0·Δ²/(2·variance)
//	Image          none                     L2Squared/(2·variance)
//	Staircase      L0·Epsilon               L0·ε·tanh(ε/2), ε = Epsilon
//	Recycled       the pair's, see brdp     the pair's, see brdp
//	Pure           ε                        ε·tanh(ε/2)
//	BoundedRange   ε                        ε²/8, or ε·tanh(ε/2) if that is less
//	Approximate    none                     that of its Of, and δ
//	Refinement     none                     (After − Before)·Δ²/2
//	Reduction      (After − Before)·L1      of Laplace at Cap with the first level, then 0
//	Composed       the sum of its parts     the sum of its parts
//
// None is ErrNoFinitePrice. The price of Laplace noise under zCDP is the largest
// Kullback-Leibler divergence of a coordinate, to which the Rényi divergences of
// order α divided by α are at most equal, and so is ε·tanh(ε/2), that of binary
// randomised response, for all that is ε-DP [Harrison-Manurangsi 2026]; both are
// below ½ε² [Bun-Steinke 2016]. Gaussian noise: [CKS 2020, Theorem 4]; bounded
// range: [Cesar-Rogers 2021]. An approximately private release, such as one that
// is (ε, δ)-DP, is a mixture of a private release, of weight 1 − δ, and any other.
// A coordinate's Gaussian measurements cost the sum of their 1/(2·variance); as a
// unit touches L0 partitions, the L0 largest cost as much as any unit can lose.
// The levels of a reduction path are post-processing of its last.
func Price(e dp.Event, m dp.Measure) (dp.Loss, error) {
	if m != dp.PureDP && m != dp.ZCDP {
		return dp.Loss{}, dp.ErrMeasure
	}
	switch e := e.(type) {
	case dp.LaplaceEvent:
		return priceLaplace(e, m)
	case dp.GaussianEvent:
		return priceGaussian(e, m)
	case dp.ImageEvent:
		return priceImage(e, m)
	case dp.StaircaseEvent:
		return priceStaircase(e, m)
	case dp.RecycledEvent:
		return priceRecycled(e, m)
	case dp.PureEvent:
		return pricePure(e, m)
	case dp.BoundedRangeEvent:
		return priceBoundedRange(e, m)
	case dp.ApproximateEvent:
		return priceApproximate(e, m)
	case dp.RefinementEvent:
		return priceRefinement(e, m)
	case dp.ReductionEvent:
		return priceReduction(e, m)
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

func priceImage(e dp.ImageEvent, m dp.Measure) (dp.Loss, error) {
	if e.Coordinates < 1 || e.L2Squared == nil || e.L2Squared.Sign() <= 0 || e.Variance == nil || e.Variance.Sign() <= 0 {
		return dp.Loss{}, fmt.Errorf("%w: an image without coordinates, a sensitivity or a variance", ErrEvent)
	}
	if m == dp.PureDP {
		return dp.Loss{}, fmt.Errorf("%w: Gaussian noise under pure differential privacy", ErrNoFinitePrice)
	}
	return lossUp(m, new(big.Rat).SetFrac(e.L2Squared, new(big.Int).Lsh(e.Variance, 1)))
}

func priceStaircase(e dp.StaircaseEvent, m dp.Measure) (dp.Loss, error) {
	if !e.Sensitivity.Valid() || !positive(e.Epsilon) || e.Step < 1 || e.Step > e.Sensitivity.LInf {
		return dp.Loss{}, fmt.Errorf("%w: a staircase without a sensitivity, an epsilon or a step", ErrEvent)
	}
	coordinate := e.Epsilon
	if m == dp.ZCDP {
		coordinate = pureRho(e.Epsilon)
	}
	return lossUp(m, new(big.Rat).Mul(coordinate, new(big.Rat).SetInt64(e.Sensitivity.L0)))
}

func pricePure(e dp.PureEvent, m dp.Measure) (dp.Loss, error) {
	if !positive(e.Epsilon) {
		return dp.Loss{}, fmt.Errorf("%w: a pure event without an epsilon", ErrEvent)
	}
	if m == dp.PureDP {
		return lossUp(m, e.Epsilon)
	}
	return lossUp(m, pureRho(e.Epsilon))
}

func priceBoundedRange(e dp.BoundedRangeEvent, m dp.Measure) (dp.Loss, error) {
	if !positive(e.Epsilon) {
		return dp.Loss{}, fmt.Errorf("%w: a bounded range without an epsilon", ErrEvent)
	}
	if m == dp.PureDP {
		return lossUp(m, e.Epsilon)
	}
	rho := new(big.Rat).Mul(e.Epsilon, e.Epsilon)
	rho.Mul(rho, big.NewRat(1, 8))
	if generic := pureRho(e.Epsilon); generic.Cmp(rho) < 0 {
		rho = generic
	}
	return lossUp(m, rho)
}

func priceApproximate(e dp.ApproximateEvent, m dp.Measure) (dp.Loss, error) {
	if e.Of == nil || !positive(e.Delta) || e.Delta.Cmp(big.NewRat(1, 1)) > 0 {
		return dp.Loss{}, fmt.Errorf("%w: an approximate event without its event or its delta", ErrEvent)
	}
	if m == dp.PureDP {
		return dp.Loss{}, fmt.Errorf("%w: a delta under pure differential privacy", ErrNoFinitePrice)
	}
	of, err := Price(e.Of, m)
	if err != nil {
		return dp.Loss{}, err
	}
	delta, err := dp.NewLoss(m, 0, ceil(e.Delta, dp.AttoPerUnit).Int64()) // at most 10¹⁸
	if err != nil {
		return dp.Loss{}, err
	}
	return of.Plus(delta)
}

func priceRefinement(e dp.RefinementEvent, m dp.Measure) (dp.Loss, error) {
	if !e.Sensitivity.Valid() || !ordered(e.Before, e.After) {
		return dp.Loss{}, fmt.Errorf("%w: a refinement without a sensitivity or precisions", ErrEvent)
	}
	if m == dp.PureDP {
		return dp.Loss{}, fmt.Errorf("%w: Gaussian noise under pure differential privacy", ErrNoFinitePrice)
	}
	delta := big.NewInt(e.Sensitivity.LInf)
	rho := new(big.Rat).SetFrac(delta.Mul(delta, delta), big.NewInt(2))
	return lossUp(m, rho.Mul(rho, new(big.Rat).Sub(e.After, e.Before)))
}

func priceReduction(e dp.ReductionEvent, m dp.Measure) (dp.Loss, error) {
	if !e.Sensitivity.Valid() || !ordered(e.Before, e.After) || !ordered(e.After, e.Cap) || e.Before.Cmp(e.After) == 0 {
		return dp.Loss{}, fmt.Errorf("%w: a reduction without a sensitivity or rates", ErrEvent)
	}
	switch {
	case m == dp.PureDP:
		step := new(big.Rat).Sub(e.After, e.Before)
		return lossUp(m, step.Mul(step, new(big.Rat).SetInt(e.Sensitivity.L1())))
	case e.Before.Sign() > 0:
		return dp.Zero(m), nil // the path was paid for with its first level
	}
	return priceLaplace(dp.LaplaceEvent{Sensitivity: e.Sensitivity, Scale: new(big.Rat).Inv(e.Cap)}, m)
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

// positive reports whether x is there and above 0.
func positive(x *big.Rat) bool { return x != nil && x.Sign() > 0 }

// ordered reports whether both are there and 0 ≤ x ≤ y.
func ordered(x, y *big.Rat) bool { return x != nil && y != nil && x.Sign() >= 0 && x.Cmp(y) <= 0 }

// lossUp returns the least loss that is at least x.
func lossUp(m dp.Measure, x *big.Rat) (dp.Loss, error) {
	picos := ceil(x, dp.PicoPerUnit)
	if !picos.IsInt64() {
		return dp.Loss{}, dp.ErrOverflow
	}
	return dp.NewLoss(m, picos.Int64(), 0)
}

// ceil returns ⌈x·unit⌉ for x ≥ 0.
func ceil(x *big.Rat, unit int64) *big.Int {
	n := new(big.Int).Mul(x.Num(), big.NewInt(unit))
	return n.Add(n, x.Denom()).Sub(n, big.NewInt(1)).Quo(n, x.Denom())
}
