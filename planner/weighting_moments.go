package planner

import (
	"math/big"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/fold"
	"dpproxy/planner/scalar"
)

// byMoments weighs units by the norms of a count and of the squares of the distances of one or two arguments from centres: every other sum
// is at most the root of the product of two of these norms.
type byMoments struct {
	severalNorms
	beside  scalar.Expr // the other argument
	squares int         // the number of norms of squares
}

func (w byMoments) same(o weighting) bool {
	also, ok := o.(byMoments)
	return ok && w.ofValues.same(also.ofValues) && sameExpr(w.beside, also.beside)
}

func (w byMoments) norms() int { return 1 + w.squares }

func (w byMoments) normOf(s *statistic) int {
	f, square := s.statisticForm.(squareFrom)
	switch {
	case square:
		return f.norm
	case s.counts():
		return 0
	}
	return w.norms() - 1
}

func (byMoments) most(s *statistic, rows int64) *big.Int {
	if f, between := s.statisticForm.(momentForm); between {
		return mostBetween(s.measure, f)
	}
	return s.mostOfNorm(rows)
}

func (byMoments) saturates(*fold.Summand, *statistic, int, int64, int) {}

func (byMoments) extends(n *Norm, s *statistic, c unitBounds, reach *big.Int) {
	n.Grid = n.Grid.Extend(root(reach))
	n.dropSaturated(s, c)
}

// momentFraction are the fraction bits of weights by squares, whose limits are larger than those of sums.
const momentFraction = 12

func (byMoments) fraction(*Measure, *statistic) uint { return momentFraction }

func (byMoments) sensitivity(s *statistic, levels []int) (dp.Sensitivity, error) {
	if f, between := s.statisticForm.(momentForm); between {
		of, square := f.within()
		return contribution.Between(s.measure.grids(), of, levels, square, momentFraction)
	}
	return sensitivityAt(s, levels)
}

// within drops limits of whichever norm has more of them left, if noise grows with two limits.
func (byMoments) within(s *statistic) error {
	f, between := s.statisticForm.(momentForm)
	if !between {
		return s.withinLimits()
	}
	m := s.measure
	of, _ := f.within()
	last := func() []int {
		levels := m.leastLevels()
		for _, i := range of {
			levels[i] = m.Norms[i].last()
		}
		return levels
	}
	for m.checkAt(s, last()) != nil {
		norm := &m.Norms[of[0]]
		if next := &m.Norms[of[1]]; next.Choices > norm.Choices {
			norm = next
		}
		if norm.Choices--; norm.Choices < 1 {
			return imprecise()
		}
	}
	return nil
}

func (byMoments) refuses() bool { return true }
