package brdp

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// All of the accounting is about the pair (f, f(·−Δ)), where f is the law of the
// noise. It covers every pair of neighbours, because f is symmetric and does not
// increase with |n|:
//
// For γ ≥ 1 the hockey-stick divergence E_γ(f ‖ f(·−s)) = Σ (f(n) − γ·f(n−s))₊ does
// not decrease with s ≥ 0. Where n < s/2, |n−s| = s−n grows with s, so that f(n−s)
// does not grow and the term does not fall; where n ≥ s/2, |n| ≥ |n−s|, so that
// f(n) ≤ f(n−s) and the term is 0. For γ < 1, E_γ(P‖Q) = 1 − γ + γ·E_{1/γ}(Q‖P) and
// the pair is symmetric. Every Rényi divergence is a mixture of hockey-stick
// divergences with weights that are not negative, and so grows with s as well. A
// sign of the change is a reflection of both laws. The coordinates are independent:
// ε and ρ add up.

// Epsilon returns the least ε of which the release of a vector is ε-DP, rounded up
// by less than 10⁻¹⁴·L0, and whether there is one: with a Gaussian kernel there is not.
func (l Law) Epsilon() (*big.Rat, bool) {
	if l.epsilon == nil {
		return nil, false
	}
	// The double nearest 1 − q is wrong by 2⁻⁵³ relatively, and so its logarithm by
	// 2⁻⁵³ absolutely, and by one rounding. It may be 1 though q is not 0.
	extra := 0.0
	if l.recycled {
		extra = -l.logKeep*(1+1e-15) + 1e-15
	}
	e := new(big.Rat).Add(l.epsilon, new(big.Rat).SetFloat64(extra))
	return e.Mul(e, l.coordinates), true
}

// Loss returns a loss under m that covers the release of one vector, rounded up to
// 10⁻¹². It refuses dp.PureDP with a Gaussian kernel, as [dp.ErrMeasure].
func (l Law) Loss(m dp.Measure) (dp.Loss, error) {
	switch m {
	case dp.PureDP:
		if e, ok := l.Epsilon(); ok {
			return lossUp(m, e)
		}
	case dp.ZCDP:
		rho := l.Rho()
		if math.IsNaN(rho) || math.IsInf(rho, 0) {
			return dp.Loss{}, dp.ErrOverflow
		}
		r := new(big.Rat).SetFloat64(rho)
		return lossUp(m, r.Mul(r, l.coordinates))
	case dp.ApproximateDP: // is of limits
	}
	return dp.Loss{}, fmt.Errorf("%w: a Gaussian kernel under %v", dp.ErrMeasure, m)
}

// lossUp returns the least loss that is at least x ≥ 0.
func lossUp(m dp.Measure, x *big.Rat) (dp.Loss, error) {
	picos := new(big.Int).Mul(x.Num(), big.NewInt(dp.PicoPerUnit))
	picos.Add(picos, x.Denom()).Sub(picos, big.NewInt(1)).Quo(picos, x.Denom())
	if !picos.IsInt64() {
		return dp.Loss{}, dp.ErrOverflow
	}
	return dp.NewLoss(m, picos.Int64(), 0)
}

// Delta returns the least δ for which one coordinate is (ε, δ)-DP, never below the
// true one and above it by the uncertainty of doubles: 10⁻¹² of the masses whose
// difference it is.
//
//	δ(ε) = Σ (f(n) − e^ε·f(n−Δ))₊
//
// In a range of constant weights w, w′ of n and n−Δ the term is positive just below
// the n at which the kernel's log-likelihood ratio crosses ε − ln(w/w′).
func (l Law) Delta(epsilon float64) float64 {
	switch {
	case math.IsNaN(epsilon):
		return 1
	case epsilon < 0:
		return min(1, -math.Expm1(epsilon)+math.Exp(epsilon)*l.Delta(-epsilon))
	}
	delta := 0.0
	for _, r := range l.ranges {
		weight, before := l.logWeight(r.inside), l.logWeight(r.before)
		b := min(r.b, math.Ceil(l.kernel.crossing(l.shift, epsilon-weight+before))-1)
		if b < r.a || math.IsInf(b, -1) {
			continue
		}
		mass := math.Exp(l.logC + weight + l.kernel.logMass(r.a, b))
		moved := math.Exp(epsilon + l.logC + before + l.kernel.logMass(r.a-l.shift, b-l.shift))
		mass *= 1 + l.kernel.slack(r.a, b)
		moved *= 1 - min(1, l.kernel.slack(r.a-l.shift, b-l.shift))
		delta += max(0, mass-moved)
	}
	return min(1, delta)
}

// logWeight returns ln w for an n that is or is not within the boundary.
func (l Law) logWeight(inside bool) float64 {
	if inside {
		return 0
	}
	return l.logKeep
}
