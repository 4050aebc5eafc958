package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"dpproxy/dp"
)

// maxOffset bounds the distance of a value from a centre, in steps.
const maxOffset = 1 << 32

// An offsetSum is the sum of the distances of values from a centre, one of several, in half steps.
type offsetSum struct {
	summation
	centres []int64 // in half steps
}

// newOffsetSum has as centres zero, if it is within the bounds, and the ends and the middle of
// bounds that are declared.
func newOffsetSum(t term) offsetSum {
	low, high := t.values.low, t.values.high
	var centres []int64
	if low <= 0 && 0 <= high {
		centres = append(centres, 0)
	}
	if !t.values.technical {
		centres = append(centres, 2*low, low+high, 2*high)
	}
	slices.Sort(centres)
	return offsetSum{summation{term: t}, slices.Compact(centres)}
}

// String names the statistic.
func (f offsetSum) String() string {
	return fmt.Sprintf("sum of %s from a centre in half steps of %s", describe(f.arg), f.values.step.RatString())
}

// apart writes what is summed, for people, with the centres that there are to choose from.
func (f offsetSum) apart(chosen bool) string {
	from := f.centres
	if !chosen {
		from = from[:1]
	}
	var centres []string
	for _, c := range from {
		centres = append(centres, Number(float64(c)*float(f.centred().Unit)))
	}
	return " of the sum of " + describe(f.arg) + " from " + strings.Join(centres, " or ")
}

func (f offsetSum) ofOneRow(unitBounds) (dp.Sensitivity, error) {
	return oneRow.Sum(dp.Range{Lower: -f.furthest(), Upper: f.furthest()})
}

// furthest is the largest distance of a value from a centre.
func (f offsetSum) furthest() int64 { return 2 * (f.values.high - f.values.low) }

func (f offsetSum) adds(rows int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(f.furthest()), big.NewInt(rows))
}

// ofRows writes the sum about zero.
func (f offsetSum) ofRows(r rowColumns) (string, error) {
	x, err := r.integer(f.term)
	return sumSQL(x), err
}
