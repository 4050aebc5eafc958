package release

import (
	"math/big"

	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// A Set is all that was released of one grouping set.
type Set struct {
	Keys [][]*string // of private groups
	// Rows are the integers of each group, that were released at once or at Level of a path of
	// noise.
	Rows  [][]*big.Int
	Level int
	// Measured are the independent measurements of each group's statistics.
	Measured [][][]mechanisms.Measurement
	// PaidPico is the price of noise reduction, of all reads together, in the measure of the noise reduction.
	PaidPico int64
}

// Released returns the relation that a set shows.
func (s *Set) Released(p *planner.GroupingSet) *planner.Released {
	switch {
	case p.Reduction == nil:
		return &planner.Released{Keys: s.Keys, Rows: s.Rows}
	case !p.Reduction.Independent():
		return p.Reduction.Revealed(s.Keys, s.Rows, s.Level)
	}
	estimates := make([][]mechanisms.Estimate, len(p.Reduction.Statistics))
	for k := range estimates {
		for _, partition := range s.Measured {
			estimates[k] = append(estimates[k], mechanisms.Combined(partition[k]))
		}
	}
	return p.Reduction.Estimated(s.Keys, estimates)
}
