package planner

import (
	"math/big"
	"math/bits"

	"dpproxy/dp"
	"dpproxy/fold"
)

// byCount weighs units by the norm of the count, the first statistic of a measure. Each row adds a bounded part to the other statistics.
type byCount struct {
	oneNorm
	ofValues
}

func (w byCount) same(o weighting) bool {
	also, ok := o.(byCount)
	return ok && w.ofValues.same(also.ofValues)
}

func (byCount) each(change dp.Sensitivity) int64 { return change.LInf }

func (byCount) most(s *statistic, rows int64) *big.Int {
	if s.counts() {
		return s.mostOfNorm(rows)
	}
	most := big.NewInt(s.each)
	return most.Mul(most, big.NewInt(rows))
}

func (byCount) saturates(part *fold.Summand, s *statistic, _ int, rows int64, count int) {
	part.Each, part.Rows, part.Count = s.each, rows, count
}

func (byCount) fraction(m *Measure, s *statistic) uint {
	if !m.cuts() { // no unit is scaled
		return 0
	}
	return uint(max(0, countFraction-bits.Len64(uint64(s.each))))
}

// noiseWeight is large since the noise of second moments is proportional to the bounds, not to the values.
func (byCount) noiseWeight(*statistic) float64 { return 80 }
