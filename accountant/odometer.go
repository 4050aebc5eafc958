package accountant

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// ErrReport is wrapped by the errors of reports about arguments that make no sense.
var ErrReport = errors.New("accountant: invalid argument of a report")

// Odometer returns what l amounts to as an (ε, δ), for display: the ε at which a
// transcript with the loss l is (ε, δ)-DP.
//
// A pure loss is its ε, whatever δ is. Of a zCDP loss with a δ of its own, that δ
// is spent already, and the rest of δ pays for the conversion by [Epsilon]; ε is
// +Inf where nothing is left. δ is from 0 to below 1.
//
// It says what was spent so far; that it may be read at any time, and the analyst
// stop because of it, gives no guarantee below the budget's. What may still be
// spent is decided by the sums of the ledger alone.
func Odometer(l dp.Loss, delta float64) (epsilon float64, err error) {
	if !(delta >= 0 && delta < 1) {
		return 0, fmt.Errorf("%w: a delta of %g", ErrReport, delta)
	}
	spent := float64(l.Pico()) / dp.PicoPerUnit
	switch l.Measure() {
	case dp.PureDP:
		return spent, nil
	case dp.ZCDP:
		left := delta - float64(l.Atto())/dp.AttoPerUnit
		if left < 0 {
			return math.Inf(1), nil
		}
		return Epsilon(spent, left), nil
	}
	return 0, dp.ErrMeasure
}

// GroupPrivacy returns the loss that l is for k units together, such as the
// members of a household: k·ε or k²·ρ [Bun-Steinke 2016, Proposition 1.9]. A loss
// with a δ is refused: that of a group is no multiple of it.
func GroupPrivacy(l dp.Loss, k int64) (dp.Loss, error) {
	if k < 1 || l.Atto() != 0 {
		return dp.Loss{}, fmt.Errorf("%w: %v for a group of %d", ErrReport, l, k)
	}
	pico := new(big.Int).Mul(big.NewInt(l.Pico()), big.NewInt(k))
	if l.Measure() == dp.ZCDP {
		pico.Mul(pico, big.NewInt(k))
	}
	if !pico.IsInt64() {
		return dp.Loss{}, dp.ErrOverflow
	}
	return dp.NewLoss(l.Measure(), pico.Int64(), 0)
}

// A Boundary bounds the privacy loss of a Gaussian answer that is refined until
// some rule stops: with probability at least 1 − Delta, at all variances t at
// once, the loss is at most At(t). Exactly one of Slope and Tuning is above 0.
//
//	linear:   Δ²/2t + (Δ/t)·(a·t + b),  a = Slope, 2ab = ln(1/δ)
//	mixture:  Δ²/2t + (Δ/t)·√(2(t+τ)·ln(√((t+τ)/τ)/δ)),  τ = Tuning
//
// [Whitehouse et al. 2022]. With s = 1/t the loss is Δ²s/2 + Δ·W for a standard
// Brownian motion W at time s; the linear boundary is crossed with probability
// exp(−2ab), the mixture, which holds on both sides, with about half of δ.
//
// It is a report, not a guarantee. Ex-post privacy is not closed under
// post-processing: the small loss of one answer may be that of the answer alone,
// and not of what is computed from it. What the ledger sums is closed.
type Boundary struct {
	L2     float64 // Δ, above 0
	Delta  float64 // above 0, below 1
	Slope  float64
	Tuning float64
}

// At returns the bound for an answer that stopped with the variance t > 0.
func (b Boundary) At(t float64) (epsilon float64, err error) {
	if err := b.check(t); err != nil {
		return 0, err
	}
	logDelta := -math.Log(b.Delta)
	width := b.Slope*t + logDelta/(2*b.Slope)
	if b.Tuning > 0 {
		total := t + b.Tuning
		width = math.Sqrt(2 * total * (math.Log(total/b.Tuning)/2 + logDelta))
	}
	return b.L2*b.L2/(2*t) + b.L2/t*width, nil
}

func (b Boundary) check(t float64) error {
	switch {
	case !finite(t) || !finite(b.L2):
		return fmt.Errorf("%w: a variance of %g for a sensitivity of %g", ErrReport, t, b.L2)
	case !(b.Delta > 0 && b.Delta < 1):
		return fmt.Errorf("%w: a delta of %g", ErrReport, b.Delta)
	case !(finite(b.Slope) && b.Tuning == 0 || finite(b.Tuning) && b.Slope == 0):
		return fmt.Errorf("%w: a boundary with the slope %g and the tuning %g", ErrReport, b.Slope, b.Tuning)
	}
	return nil
}

// finite reports whether x is a number above 0.
func finite(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// BestSlope returns the slope with which the linear boundary is lowest at the
// variance t, ρ + 2√(ρ·ln(1/δ)) with ρ = Δ²/2t, for t > 0 and 0 < δ < 1.
func BestSlope(t, delta float64) float64 { return math.Sqrt(-math.Log(delta) / (2 * t)) }
