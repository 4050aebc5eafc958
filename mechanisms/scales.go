package mechanisms

import (
	"fmt"
	"math"
)

// Scales is the boundary for any number of rounds at any precisions, like [Anytime], for
// precisions that differ by many powers of ten: it is the narrowest of several [Anytime],
// each of which has a part of the error probability (union bound). Where one Anytime that
// is ten thousand times too fine is useless, Scales is a quarter wider than the best; at its
// main scale it is a twentieth wider.
//
// Its parameters are part of the question under which measurements are remembered
// (planner.BlockPlan.ReductionQuestion): nothing that was measured within another boundary is found.
type Scales struct{ parts []Anytime }

const (
	// scaleRatio is between the precisions of neighbouring scales. Halfway between
	// them a boundary is a twelfth wider than at either.
	scaleRatio = 32
	// coarser and finer are how many scales there are beside the main one.
	coarser, finer = 4, 1
	// mainShare of the error probability is the main scale's.
	mainShare = 0.6
)

// NewScales returns the boundary that holds at all times at once with probability
// 1 − beta, and is narrowest at sigma, which must be chosen in advance.
func NewScales(beta, sigma float64) (Scales, error) {
	var s Scales
	for k := -coarser; k <= finer; k++ {
		share := mainShare
		if k != 0 {
			share = (1 - mainShare) / (coarser + finer)
		}
		part, err := NewAnytime(beta*share, sigma*math.Pow(scaleRatio, -float64(k)/2))
		if err != nil {
			return Scales{}, fmt.Errorf("a boundary of several scales: %w", err)
		}
		s.parts = append(s.parts, part)
	}
	return s, nil
}

// HalfWidth is that of the narrowest [Anytime].
func (s Scales) HalfWidth(sigma float64) float64 {
	least := math.Inf(1)
	for _, part := range s.parts {
		least = min(least, part.HalfWidth(sigma))
	}
	return least
}

// Sigma returns the largest standard deviation whose half-width is at most c, or 0. It halves
// the exponents of doubles first.
func (s Scales) Sigma(c float64) float64 {
	const least, most = -200, 200
	low, high := math.Ldexp(1, least), math.Ldexp(1, most)
	if !(s.HalfWidth(low) <= c) {
		return 0
	}
	for range 200 {
		mid := math.Sqrt(low) * math.Sqrt(high)
		if s.HalfWidth(mid) <= c {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
