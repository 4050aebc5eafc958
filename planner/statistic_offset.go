package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"dpproxy/dp"
)

// maxOffset bounds the range of values that are summed about a chosen centre, in steps.
const maxOffset = 1 << 32

// An offsetSum is the sum of the distances of values from one of several centres, in half steps.
type offsetSum struct {
	summation
	centres []int64 // in half steps
}

// newOffsetSum takes as centres zero, if it is within the bounds, and the ends and the middle of the bounds, if these are not technical.
// For private groups it takes one centre, zero or the middle: every group that occurs is read for each centre.
func newOffsetSum(t term, private bool) offsetSum {
	low, high := t.values.low, t.values.high
	zero := low <= 0 && 0 <= high
	f := offsetSum{summation: summation{term: t}}
	if zero {
		f.centres = append(f.centres, 0)
	}
	switch {
	case t.values.technical, private && zero:
	case private:
		return f.aboutMiddle()
	default:
		f.centres = append(f.centres, 2*low, low+high, 2*high)
	}
	slices.Sort(f.centres)
	f.centres = slices.Compact(f.centres)
	return f
}

// aboutMiddle takes only the middle of the bounds, about which a limit that follows from a number of rows is smallest.
func (f offsetSum) aboutMiddle() offsetSum {
	f.centres = []int64{f.values.low + f.values.high}
	return f
}

// String names the statistic.
func (f offsetSum) String() string {
	return fmt.Sprintf("sum of %s from a centre in half steps of %s", describe(f.arg), f.values.step.RatString())
}

// apart implements apartForm.
func (f offsetSum) apart(centre int) string {
	from := f.centres
	if centre != allCentres {
		from = from[centre : centre+1]
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

// furthest is the largest distance of a value from a centre, in half steps.
func (f offsetSum) furthest() int64 {
	most := int64(0)
	for _, c := range f.centres {
		most = max(most, 2*f.values.high-c, c-2*f.values.low)
	}
	return most
}

func (f offsetSum) adds(rows int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(f.furthest()), big.NewInt(rows))
}

// ofRows writes the sum about zero.
func (f offsetSum) ofRows(r rowColumns) (string, error) {
	x, err := r.integer(f.term)
	return sumSQL(x), err
}

func (f offsetSum) scaled(sum, _ string) string { return f.inSteps(sum, f.values.scale) }
