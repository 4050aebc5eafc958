package planner

import (
	"math"

	"dpproxy/dp"
)

// withFinest gives units of a coarser grouping set the weights that they have in the finest set, with its limits. A unit moves the
// coarser set by up to √squareRatio times the limit.
type withFinest struct {
	alone
	finest      *Measure
	squareRatio int64
}

// wider returns √squareRatio, the limit of the coarser set in units of the limit of the finest set.
func (w withFinest) wider() float64 { return math.Sqrt(float64(w.squareRatio)) }

func (w withFinest) fraction(_ *Measure, s *statistic) uint { return w.finest.fraction(s) }

func (w withFinest) sensitivity(s *statistic, levels []int) (dp.Sensitivity, error) {
	return w.finest.Norms[0].Grid.Wider(levels[0], w.squareRatio, w.finest.fraction(s))
}
