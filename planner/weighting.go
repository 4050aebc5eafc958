package planner

import (
	"math/big"

	"dpproxy/dp"
	"dpproxy/fold"
	"dpproxy/planner/scalar"
)

// A weighting says by which norms the units of a measure are weighted. All differences between measures are in it.
type weighting interface {
	// same reports whether units have the same weights by another weighting.
	same(o weighting) bool
	// norms is the number of norms that bound the weight.
	norms() int
	// normOf returns the index of the norm that bounds a statistic.
	normOf(s *statistic) int
	// each bounds what a row that adds 1 to the norm adds to a statistic that one row changes by at most change.
	each(change dp.Sensitivity) int64
	// most bounds what a unit with a number of rows in a group adds to a statistic there.
	most(s *statistic, rows int64) *big.Int
	// saturates bounds the part of a unit in a sum of a group, as rows are added up; count is the index of their number.
	saturates(part *fold.Summand, s *statistic, vector int, rows int64, count int)

	// extends completes the limits of a norm that is at most √reach.
	extends(n *Norm, s *statistic, c unitBounds, reach *big.Int)
	// fraction returns the fraction bits of the lattice of the directions, or of the weighted sums, of a statistic.
	fraction(m *Measure, s *statistic) uint
	// sensitivity returns the sensitivity of a statistic if the limits of the norms are those of levels.
	sensitivity(s *statistic, levels []int) (dp.Sensitivity, error)
	// noiseWeight is the weight of noise in the penalty of a choice by a statistic.
	noiseWeight(s *statistic) float64
	// within makes sure that there is noise for a statistic at every limit.
	within(s *statistic) error

	// leavesOut says that limits leave out a part of a statistic; otherwise they move values.
	leavesOut() bool
	// refuses says that values that limits move are NULL if many units are above the limits.
	refuses() bool
}

// ofValues is the common part of weightings of several statistics of the values of an argument that a filter keeps.
type ofValues struct{ arg, filter scalar.Expr }

func (w ofValues) same(o ofValues) bool {
	return sameExpr(w.arg, o.arg) && sameExpr(w.filter, o.filter)
}

func (ofValues) leavesOut() bool { return false }

func (ofValues) refuses() bool { return false }

// severalNorms is the common part of weightings by several norms: the weight of a unit follows from its levels alone.
type severalNorms struct{ ofValues }

func (severalNorms) each(dp.Sensitivity) int64 { return 1 }

func (severalNorms) noiseWeight(*statistic) float64 { return 1 }

// sensitivityAt returns the sensitivity of a statistic on the lattice of its weights, at the limit of its own norm.
func sensitivityAt(s *statistic, levels []int) (dp.Sensitivity, error) {
	m := s.measure
	at := m.weighting.normOf(s)
	grid := m.Norms[at].Grid
	return grid.Sensitivity(levels[at], max(s.each, 1), m.fraction(s)-grid.Lattice(0))
}

// oneNorm is the common part of weightings by one norm.
type oneNorm struct{}

func (oneNorm) norms() int { return 1 }

func (oneNorm) normOf(*statistic) int { return 0 }

func (oneNorm) extends(*Norm, *statistic, unitBounds, *big.Int) {}

func (oneNorm) sensitivity(s *statistic, levels []int) (dp.Sensitivity, error) {
	return s.measure.Norms[0].Grid.Sensitivity(levels[0], max(s.each, 1), s.measure.fraction(s))
}

func (oneNorm) within(s *statistic) error { return s.withinLimits() }
