package planner

import (
	"math"

	"dpproxy/dp"
)

// withFinest has units of a coarser grouping set weigh as they do in the finest one, whose limits it has: one unit moves the set by so many
// times the limit.
type withFinest struct {
	alone
	finest *Measure
	// squareRatio is the square of that number.
	squareRatio int64
}

// wider is how many times the limit of the finest set that of the coarser one is.
func (w withFinest) wider() float64 { return math.Sqrt(float64(w.squareRatio)) }

func (w withFinest) fraction(_ *Measure, s *statistic) uint { return w.finest.fraction(s) }

func (w withFinest) sensitivity(s *statistic, levels []int) (dp.Sensitivity, error) {
	return w.finest.Norms[0].Grid.Wider(levels[0], w.squareRatio, w.finest.fraction(s))
}
