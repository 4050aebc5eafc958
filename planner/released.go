package planner

import (
	"math/big"

	"dpproxy/estimate"
)

// Released is the released relation of a grouping set: integers with noise, one row for each partition
// that is shown. The rows of one with public keys are all of its partitions, in
// order; those of private keys are in the order of their keys.
type Released struct {
	Keys [][]*string // of each row, in the order of the set; nil if they are all public ones
	Rows [][]*big.Int
	// Clips say where the units of each measure of the set were cut.
	Clips []Clip
	// Margins are how far the integers of each row may be off, where noise reduction ended; nil
	// where the mechanisms of the plan tell.
	Margins [][]Margin
}

// integers are those of one row, with their noise as far as it is known.
type integers struct {
	ints    []*big.Int
	clips   []Clip
	spread  []float64 // by statistic, of what limits leave out; nil where it is not known
	margins []Margin  // nil: the mechanisms of the plan tell
}

func (r *Released) integers() []integers {
	out := make([]integers, len(r.Rows))
	for i, row := range r.Rows {
		out[i].ints, out[i].clips = row, r.Clips
		if r.Margins != nil {
			out[i].margins = r.Margins[i]
		}
	}
	return out
}

// A Margin is how far an integer may be off where noise reduction ended: by at most Half, with the
// confidence of the statement for whatever is computed of it; Sigma is its standard
// deviation. The shown value is rounded, and Half has the half that this costs. Close says that the
// relative error that was asked for is reached.
type Margin struct {
	Half, Sigma float64
	Close       bool
}

// Quantile implements estimate.Tail. The noise reduction was begun for one error probability.
func (m Margin) Quantile(float64) float64 { return m.Half }

// StdDev implements estimate.Noise.
func (m Margin) StdDev() float64 { return m.Sigma }

var _ estimate.Noise = Margin{}
