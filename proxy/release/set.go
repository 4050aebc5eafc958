package release

import (
	"math/big"

	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// A Set is all that was released of one grouping set.
type Set struct {
	Keys [][]*string // of groups that are not all public ones
	// Clips are where the units of each measure were cut.
	Clips []planner.Clip
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
func (s *Set) Released(p *planner.GroupingSet) (*planner.Released, error) {
	if p.Reduction == nil {
		return &planner.Released{Keys: s.Keys, Clips: s.Clips, Rows: s.Rows}, nil
	}
	l := limited{set: p}
	if err := l.within(s.Clips); err != nil {
		return nil, err
	}
	if !l.reduction.Independent() {
		return l.reduction.Revealed(s.Keys, s.Rows, s.Level), nil
	}
	estimates := make([][]mechanisms.Estimate, len(l.reduction.Statistics))
	for k := range estimates {
		for _, partition := range s.Measured {
			estimates[k] = append(estimates[k], mechanisms.Combined(partition[k]))
		}
	}
	return l.reduction.Estimated(s.Keys, estimates), nil
}
