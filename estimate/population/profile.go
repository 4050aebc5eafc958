package population

import (
	"fmt"
	"math"
	"slices"

	"dpproxy/accountant/realized"
)

// An Estimate is a share or a mean, and the interval that holds it with the confidence asked for.
type Estimate struct {
	Value, Low, High float64
	// Partial says that refusals may hang on answers about other columns, whose relation to these was
	// too large to be taken in.
	Partial bool
}

// quantile returns the z with which an interval of ±z standard deviations has the confidence.
func quantile(confidence float64) (float64, error) {
	if !(confidence > 0 && confidence < 1) {
		return 0, fmt.Errorf("%w: a confidence of %g", realized.ErrParameter, confidence)
	}
	return math.Sqrt2 * math.Erfinv(confidence), nil
}

// maxProfile bounds the fits for one end of an interval. It takes 3 to 6.
const maxProfile = 24

// estimate returns h·shares of the best fit, and its profile likelihood interval.
func (m *mixture) estimate(best *state, h []float64, z float64) Estimate {
	e := Estimate{Value: dot(h, best.shares)}
	e.High = m.end(best, h, e.Value, z)
	negative := make([]float64, len(h))
	for i, x := range h {
		negative[i] = -x
	}
	e.Low = -m.end(best, negative, -e.Value, z)
	return e
}

// end returns the largest h·shares of a likelihood within z²/2 of the best, in logarithms, from above: for
// any λ > 0 it is at most
//
//	(max F − (ln of the best likelihood − z²/2))/λ,  F = ln likelihood + λ·h·shares,
//
// and equal for the λ whose fit has just that likelihood; near it, the bound hardly changes.
func (m *mixture) end(best *state, h []float64, value, z float64) float64 {
	top, drop := m.logLikelihood(best.shares), z*z/2
	end := slices.Max(h)
	width := end - slices.Min(h)
	if width == 0 || end-value <= 1e-12*width {
		return end
	}
	lambda, from := math.Sqrt(m.objects)/width, best
	below, above := 0.0, math.Inf(1) // λ of which the fit loses too little, and too much
	for range maxProfile {
		from = m.fit(h, lambda, from)
		gradient, _ := m.derivatives(from.shares, h, lambda)
		now := m.logLikelihood(from.shares)
		most := now + lambda*dot(h, from.shares) + m.gap(from.shares, gradient)
		end = min(end, (most-top+drop)/lambda)
		lost := top - now
		switch {
		case math.Abs(lost-drop) <= 0.1*drop:
			return max(end, value)
		case lost < drop:
			below = lambda
		default:
			above = lambda
		}
		// The loss grows like the square of λ, unless something is at a boundary.
		lambda *= min(max(math.Sqrt(drop/max(lost, 1e-9)), 0.1), 10)
		if narrow := below > 0 && above < math.Inf(1); narrow && !(lambda > below*1.01 && lambda < above/1.01) {
			lambda = math.Sqrt(below * above)
		}
	}
	return max(end, value)
}
