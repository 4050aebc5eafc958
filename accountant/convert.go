package accountant

import (
	"errors"
	"fmt"
	"math"

	"dpproxy/dp"
)

// ErrBudget is wrapped by the errors for a budget that makes no sense.
var ErrBudget = errors.New("accountant: invalid budget")

// A Budget is an (ε, δ) that a policy states, in the units of a [dp.Loss].
type Budget struct {
	EpsilonPico int64 // ε·10¹², above 0
	DeltaAtto   int64 // δ·10¹⁸, from 0 to below 10¹⁸
	// SelectionDeltaAtto is the part of δ that releases which may fail, such as
	// the selection of private keys, can spend. The rest pays once for the
	// conversion from zCDP. It is below DeltaAtto; 0 admits public keys only.
	SelectionDeltaAtto int64
}

// Limit returns the largest loss under b. A budget without δ limits ε under
// [dp.PureDP], and admits no event that is only zCDP. Any other limits ρ under
// [dp.ZCDP], by [RhoMax] of ε and of δ without the selection's part, and δ by that
// part: a transcript that is selection_delta-approximate ρ-zCDP is (ε, δ)-DP.
func (b Budget) Limit() (dp.Loss, error) {
	switch {
	case b.EpsilonPico <= 0 || b.EpsilonPico > dp.MaxPico:
		return dp.Loss{}, fmt.Errorf("%w: epsilon must be above 0 and at most %s", ErrBudget, dp.Decimal(dp.MaxPico, 12))
	case b.DeltaAtto < 0 || b.DeltaAtto >= dp.AttoPerUnit:
		return dp.Loss{}, fmt.Errorf("%w: delta must be from 0 to below 1", ErrBudget)
	case b.SelectionDeltaAtto < 0:
		return dp.Loss{}, fmt.Errorf("%w: selection_delta must not be negative", ErrBudget)
	case b.DeltaAtto == 0 && b.SelectionDeltaAtto == 0:
		return dp.NewLoss(dp.PureDP, b.EpsilonPico, 0)
	case b.SelectionDeltaAtto >= b.DeltaAtto:
		return dp.Loss{}, fmt.Errorf("%w: selection_delta must be below delta", ErrBudget)
	}
	rho := RhoMax(b.EpsilonPico, b.DeltaAtto-b.SelectionDeltaAtto)
	if rho == 0 {
		return dp.Loss{}, fmt.Errorf("%w: it is too small to spend", ErrBudget)
	}
	return dp.NewLoss(dp.ZCDP, rho, b.SelectionDeltaAtto)
}

// RhoMax returns the largest ρ, in 10⁻¹², of which it can be certain that ρ-zCDP
// implies (ε, δ)-DP, for ε = epsilonPico·10⁻¹² and δ = deltaAtto·10⁻¹⁸. It is 0
// unless 0 < ε ≤ dp.MaxPico·10⁻¹² and 0 < δ < 1.
//
// The bound of [Delta] holds at every order, so a ρ is certain as soon as one
// order gives at most δ after the rounding of that one evaluation is added:
// whether the order is the best, and whether the search is monotone, does not
// matter for soundness. The ρ that is returned has passed that test.
func RhoMax(epsilonPico, deltaAtto int64) (rhoPico int64) {
	if epsilonPico <= 0 || epsilonPico > dp.MaxPico || deltaAtto <= 0 || deltaAtto >= dp.AttoPerUnit {
		return 0
	}
	epsilon := float64(epsilonPico) / dp.PicoPerUnit
	logDelta := math.Log(float64(deltaAtto) / dp.AttoPerUnit)
	low, high := int64(0), int64(dp.MaxPico)+1 // ρ = 0 releases nothing
	for high-low > 1 {
		mid := low + (high-low)/2
		if implies(float64(mid)/dp.PicoPerUnit, epsilon, logDelta) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// implies reports whether ρ-zCDP implies (ε, δ)-DP for certain, where each
// argument is within one rounding of the number that is meant.
//
// Each of the summands of logDeltaAt and of its inputs has at most eight
// roundings of 2⁻⁵³, and the sum four more, so that the error is below 2⁻⁴⁹ of
// the sum of the absolute summands; 2⁻⁴⁴ of it is granted.
func implies(rho, epsilon, logDelta float64) bool {
	value, size := logDeltaAt(bestOrder(rho, epsilon), rho, epsilon)
	return value+0x1p-44*(size+math.Abs(logDelta)+1) <= logDelta
}

// Delta returns the δ for which ρ-zCDP implies (ε, δ)-DP, for ρ, ε ≥ 0:
//
//	δ = min over α > 1 of exp((α−1)(αρ−ε) + α·ln(1−1/α)) / (α−1)
//
// [CKS 2020, Proposition 12], correct to a relative 10⁻¹¹. It is for reports; a
// limit comes from [RhoMax].
func Delta(rho, epsilon float64) float64 {
	if rho == 0 {
		return 0
	}
	value, _ := logDeltaAt(bestOrder(rho, epsilon), rho, epsilon)
	return math.Min(1, math.Exp(value))
}

// Epsilon returns the least ε for which [Delta] is at most δ: the best ε at which
// ρ-zCDP is (ε, δ)-DP, for ρ ≥ 0. It is +Inf where δ is 0 and ρ is not. It is for
// reports, such as the meaning of a balance.
func Epsilon(rho, delta float64) float64 {
	switch {
	case rho == 0 || delta >= 1:
		return 0
	case delta <= 0:
		return math.Inf(1)
	}
	// The upper end is the simpler conversion [Bun-Steinke 2016, Prop. 1.3].
	low, high := 0.0, rho+2*math.Sqrt(rho*math.Log(1/delta))
	for range 64 {
		mid := (low + high) / 2
		if Delta(rho, mid) <= delta {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// logDeltaAt returns the logarithm of Delta's bound at the order α = 1 + a, and
// the sum of the absolute summands. With ln(1−1/α) = −ln(1+1/a) the bound is
//
//	aα·ρ − aε − a·ln(1+1/a) − ln(1+a).
func logDeltaAt(a, rho, epsilon float64) (value, size float64) {
	spread, shift := a*(1+a)*rho, a*epsilon
	gain, weight := a*math.Log1p(1/a), math.Log1p(a)
	return spread - shift - gain - weight, spread + shift + gain + weight
}

// bestOrder returns a > 0 near the minimum of logDeltaAt, whose derivative in a,
// (2a+1)ρ − ε − ln(1+1/a), increases. The value is flat there: an a wrong by a
// factor of 1+10⁻⁸ changes it by 10⁻¹⁵ or so.
func bestOrder(rho, epsilon float64) float64 {
	low, high := 1e-18, math.Min((epsilon+1)/(2*rho)+1, 1e100)
	for range 48 {
		mid := math.Sqrt(low * high)
		if (2*mid+1)*rho < epsilon+math.Log1p(1/mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
