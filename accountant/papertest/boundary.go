package papertest

import (
	"fmt"
	"math"

	"dpproxy/accountant"
)

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
// and not of anything computed from it. The ledger's measures are closed.
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
	case !positiveFinite(t) || !positiveFinite(b.L2):
		return fmt.Errorf("%w: a variance of %g for a sensitivity of %g", accountant.ErrReport, t, b.L2)
	case !(b.Delta > 0 && b.Delta < 1):
		return fmt.Errorf("%w: a delta of %g", accountant.ErrReport, b.Delta)
	case !(positiveFinite(b.Slope) && b.Tuning == 0 || positiveFinite(b.Tuning) && b.Slope == 0):
		return fmt.Errorf("%w: a boundary with the slope %g and the tuning %g", accountant.ErrReport, b.Slope, b.Tuning)
	}
	return nil
}

// BestSlope returns the slope with which the linear boundary is lowest at the
// variance t, ρ + 2√(ρ·ln(1/δ)) with ρ = Δ²/2t, for t > 0 and 0 < δ < 1.
func BestSlope(t, delta float64) float64 { return math.Sqrt(-math.Log(delta) / (2 * t)) }
