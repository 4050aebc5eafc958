package planner

import (
	"math/big"

	"dpproxy/dp"
	"dpproxy/fold"
)

// byCountAndSum weighs units by the norms of a count and of a sum of distances from a centre.
type byCountAndSum struct{ severalNorms }

func (w byCountAndSum) same(o weighting) bool {
	also, ok := o.(byCountAndSum)
	return ok && w.ofValues.same(also.ofValues)
}

func (byCountAndSum) norms() int { return 2 }

func (byCountAndSum) normOf(s *statistic) int {
	if s.counts() {
		return 0
	}
	return 1
}

func (byCountAndSum) most(s *statistic, rows int64) *big.Int { return s.mostOfNorm(rows) }

func (byCountAndSum) saturates(part *fold.Summand, s *statistic, vector int, _ int64, count int) {
	part.About, part.Centre, part.Count = true, s.statisticForm.(offsetSum).centres[vector], count
	// Both bounds keep the sum narrow, unless the centre is so large that they would bound the count of rows.
	if most := int64(narrowSum) / 4 / max(part.Centre, -part.Centre, 1); most >= maxGroupRows {
		part.Reach, part.Rows = narrowSum/4, most
	}
}

func (byCountAndSum) extends(n *Norm, _ *statistic, _ unitBounds, reach *big.Int) {
	n.Grid = n.Grid.Extend(root(reach))
}

func (byCountAndSum) fraction(*Measure, *statistic) uint { return sumFraction }

func (byCountAndSum) sensitivity(s *statistic, levels []int) (dp.Sensitivity, error) {
	return sensitivityAt(s, levels)
}

func (byCountAndSum) within(s *statistic) error { return s.withinLimits() }
