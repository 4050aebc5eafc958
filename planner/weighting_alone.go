package planner

import (
	"math/big"
	"math/bits"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/fold"
)

// alone weighs units by the norm of the only statistic of a measure.
type alone struct{ oneNorm }

func (alone) same(o weighting) bool {
	return o.leavesOut()
}

func (alone) each(dp.Sensitivity) int64 { return 1 }

func (alone) most(s *statistic, rows int64) *big.Int { return s.mostOfNorm(rows) }

func (alone) saturates(*fold.Summand, *statistic, int, int64, int) {}

func (alone) fraction(m *Measure, s *statistic) uint {
	c := s.choosing()
	switch {
	case !m.cuts(): // no unit is scaled
		return 0
	case c != nil:
		return min(countFraction, uint(choiceBits-contribution.CountBits-bits.Len64(uint64(c.weight()))))
	case (!m.keyed || m.byGroup.holds()) && s.nodes() == 1:
		return 0
	case s.counts():
		return countFraction
	}
	return sumFraction
}

// noiseWeight is larger for ranks, which are properties of the distribution of rows: the noise of a tree adds up over its nodes, and what a
// limit cuts moves each rank only by a fraction of it. Choices have weights of their own ([choosing]).
func (alone) noiseWeight(s *statistic) float64 {
	if c := s.choosing(); c != nil {
		return c.noiseWeight()
	}
	if _, ok := s.statisticForm.(histogram); ok {
		const ofRanks = 50
		return ofRanks
	}
	return 1
}

func (alone) leavesOut() bool { return true }

func (alone) refuses() bool { return false }
