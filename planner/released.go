package planner

import (
	"math/big"

	"dpproxy/estimate"
)

// Released is the released relation of a grouping set: noisy integers, a row for each partition that is shown. With public keys the rows
// are all partitions, in order; with private keys they are ordered by key.
type Released struct {
	Keys [][]*string // of each row, in the order of the set; nil if all partitions are shown
	Rows [][]*big.Int
	// Clips say at which limits the units of each measure of the set were cut.
	Clips []Clip
	// Margins bound the errors of the integers of each row after noise reduction; nil if the mechanisms of the plan determine the errors.
	Margins [][]Margin

	// agreed is the noise of each statistic in each row after totals were made to agree with their groups, nil where it is as it was drawn;
	// nil if no statistic was.
	agreed [][]estimate.Noise
	// judged are the rows of the answer, with their verdicts, by which those of a replica are judged; nil of an answer.
	judged []integers
}

// Replica returns other integers in the places of those that were released. If these are [BlockPlan.Judged], a replica hides what they do.
func (r *Released) Replica(rows [][]*big.Int) *Released {
	return &Released{Keys: r.Keys, Rows: rows, Clips: r.Clips, Margins: r.Margins, judged: r.judged}
}

// integers are the integers of a row, and what is known of their noise.
type integers struct {
	ints    []*big.Int
	clips   []Clip
	spread  []float64        // by statistic, the part of what limits leave out that falls to the row; nil if unknown
	margins []Margin         // nil if the mechanisms of the plan determine the errors
	agreed  []estimate.Noise // by statistic, as in Released
	// withheld says that no value of the row is shown.
	withheld bool
	answer   *integers // the row of the answer, of a row of a replica
}

func (r *Released) integers() []integers {
	out := make([]integers, len(r.Rows))
	for i, row := range r.Rows {
		out[i].ints, out[i].clips = row, r.Clips
		if r.Margins != nil {
			out[i].margins = r.Margins[i]
		}
		if r.agreed != nil {
			out[i].agreed = r.agreed[i]
		}
	}
	return out
}

// A Margin bounds the error of an integer after noise reduction: by Half, with the confidence of the statement for all that is computed
// from it. Sigma is its standard deviation. The shown value is rounded, and Half includes the half that this costs. Close says that the
// relative error that was asked for is reached.
type Margin struct {
	Half, Sigma float64
	Close       bool

	noise estimate.Tail // nil if it is about normal
}

// Quantile implements estimate.Tail. Noise reduction has a single error probability.
func (m Margin) Quantile(float64) float64 { return m.Half }

// StdDev implements estimate.Noise.
func (m Margin) StdDev() float64 { return m.Sigma }

var _ estimate.Noise = Margin{}
