package planner

import (
	"fmt"
	"math/big"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A measure is one exact aggregate that is read, a single integer for each partition
// or, for a histogram, one for each of its nodes. An aggregate that the analyst wrote is
// derived from one to three measures; equal measures are read and drawn once.
type measure struct {
	kind   measureKind
	arg    scalar.Expr // nil for countRows and units
	filter scalar.Expr // nil if none
	// values is the lattice of arg, for sums and histograms.
	values lattice
	// unit is what a square counts in, and offset what is taken from each, for
	// sumSquares.
	unit, offset int64
	shape        estimate.Shape // of a histogram
	sensitivity  dp.Sensitivity
}

type measureKind uint8

const (
	countRows      measureKind = iota + 1 // rows
	countUnits1                           // units with a row
	countValues                           // rows whose argument is not NULL
	countDifferent                        // different values of the argument
	sumValues                             // sum of the clamped argument
	sumCentred                            // sum of its distance from the middle of its bounds
	sumSquares                            // sum of the square of that distance, less half its maximum
	histogram                             // rows by a tree over the bounds
)

// String names a measure.
func (m *measure) String() string {
	name := ""
	if m.arg != nil {
		name = describe(m.arg)
	}
	s := "unknown measure"
	switch m.kind {
	case countRows:
		s = "count of rows"
	case countUnits1:
		s = "count of units"
	case countValues:
		s = "count of " + name
	case countDifferent:
		s = "count of different values of " + name
	case sumValues:
		s = "sum of " + name + " in steps of " + m.values.step.RatString()
	case sumCentred:
		s = "sum of " + name + " from the middle of its bounds in half steps of " + m.values.step.RatString()
	case sumSquares:
		s = fmt.Sprintf("sum of squares of %s from the middle of its bounds in %d squared half steps of %s", name, m.unit, m.values.step.RatString())
	case histogram:
		s = fmt.Sprintf("histogram of %s in %d buckets of %d steps of %s", name, m.shape.Buckets(), m.shape.Width(), m.values.step.RatString())
	}
	if m.filter != nil {
		s += " where a filter holds"
	}
	return s
}

// describe names an expression for people.
func describe(e scalar.Expr) string {
	if c, ok := scalar.PlainColumn(e); ok {
		return c.Name
	}
	return "an expression"
}

// equal reports whether two measures read the same.
func (m *measure) equal(o *measure) bool {
	same := func(a, b scalar.Expr) bool {
		return a == nil && b == nil || a != nil && b != nil && scalar.Equal(a, b)
	}
	return m.kind == o.kind && same(m.arg, o.arg) && same(m.filter, o.filter) && m.values.low == o.values.low && m.values.high == o.values.high
}

// nodes returns how many integers the measure is.
func (m *measure) nodes() int {
	if m.kind != histogram {
		return 1
	}
	n := 0
	for level := range m.shape.Levels() {
		n += m.shape.Nodes(level)
	}
	return n
}

// contribution says what a unit may add in one grouping set.
type contribution struct {
	dp.Contribution
	// unique says that a unit has at most one row in all, by a proof.
	unique bool
	// chosen says that rows of a unit must be chosen: nothing proves that it has at
	// most Rows of them in a partition.
	chosen bool
	// maxSum bounds the sum that a unit adds to a partition, in the unit of the value;
	// nil without.
	maxSum *big.Rat
}

// bound computes the sensitivity of a measure from integer limits alone (S15).
func (c contribution) bound(m *measure) (err error) {
	r := dp.Range{Lower: m.values.low, Upper: m.values.high}
	half := dp.Range{Lower: 2 * m.values.low, Upper: 2 * m.values.high} // in half steps
	switch m.kind {
	case countRows, countValues, countDifferent, histogram:
		m.sensitivity, err = c.Count()
	case countUnits1:
		m.sensitivity, err = c.CountDistinctUnits()
	case sumValues:
		if m.sensitivity, err = c.Sum(r); err == nil && c.maxSum != nil {
			m.sensitivity.LInf = min(m.sensitivity.LInf, m.values.steps(c.maxSum))
		}
	case sumCentred:
		m.sensitivity, err = c.CentredSum(half)
	case sumSquares:
		m.sensitivity, m.offset, err = c.CentredSquares(half, m.unit)
	}
	return err
}

// squareUnit is what squares of distances up to half the range count in: the largest has
// some 2³⁰ of them, so that rounding to one is far below any noise.
func squareUnit(r dp.Range) int64 {
	h := new(big.Int).SetUint64(r.Half())
	h.Mul(h, h).Rsh(h, 30)
	if !h.IsInt64() || h.Int64() < 1 {
		return 1
	}
	return h.Int64()
}

func noBounds(a *aggregate) error {
	e := pgerr.New(pgerr.NoBounds, "the values have no bounds").At(a.arg.Pos())
	if c, ok := scalar.PlainColumn(a.arg); ok {
		return pgerr.New(pgerr.NoBounds, "column %q has no bounds", c.Name).At(a.arg.Pos()).
			WithHint("Write least(greatest(%s, low), high), or ask the administrator to declare bounds in the policy.", c.Name)
	}
	return e.WithHint("Write least(greatest(x, low), high) with constants, or ask the administrator to declare bounds of the columns.")
}
