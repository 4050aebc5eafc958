package planner

import (
	"fmt"
	"math/big"

	"dpproxy/dp"
	"dpproxy/estimate"
)

// A valueSum is the sum of clamped values, in steps of their lattice.
type valueSum struct{ summation }

// String names the statistic.
func (f valueSum) String() string {
	return "sum of " + describe(f.arg) + " in steps of " + f.values.step.RatString()
}

func (f valueSum) ofOneRow(c unitBounds) (dp.Sensitivity, error) {
	s, err := oneRow.Sum(dp.Range{Lower: f.values.low, Upper: f.values.high})
	if err == nil && c.maxSum != nil {
		s.LInf = min(s.LInf, f.values.steps(c.maxSum))
	}
	return s, err
}

func (f valueSum) adds(rows int64) *big.Int {
	most := new(big.Int).SetUint64(dp.Range{Lower: f.values.low, Upper: f.values.high}.Absolute())
	return most.Mul(most, big.NewInt(rows))
}

// ofRows clamps the only row of a unit to the most that the unit may add to a sum.
func (f valueSum) ofRows(r rowColumns) (string, error) {
	x, err := r.integer(f.term)
	if c := r.contributed(); err == nil && c.unique && c.maxSum != nil {
		limit := must(f.ofOneRow(c)).LInf
		x = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, f.limitOf(r, -limit), f.limitOf(r, limit))
	}
	return sumSQL(x), err
}

// limitOf writes a limit of the values, as integer writes the values.
func (t term) limitOf(r rowColumns, n int64) string {
	if r.late(t) {
		return numericLiteral(t.values.value(n))
	}
	return literalOf(n, t.whole())
}

func (f valueSum) scaled(sum, _ string) string { return f.inSteps(sum, f.values.scale) }

// A centredSum is the sum of the distances of clamped values from the middle of their bounds, in half steps.
type centredSum struct{ summation }

// String names the statistic.
func (f centredSum) String() string {
	return "sum of " + describe(f.arg) + " from the middle of its bounds in half steps of " + f.values.step.RatString()
}

func (f centredSum) ofOneRow(unitBounds) (dp.Sensitivity, error) {
	return oneRow.CentredSum(f.halfSteps())
}

func (f centredSum) ofRows(r rowColumns) (string, error) {
	if r.late(f.term) {
		x, err := r.integer(f.term)
		return sumSQL(x), err
	}
	x, err := distance(r, f.term)
	return sumSQL(x), err
}

// scaled subtracts the middle once for all rows.
func (f centredSum) scaled(sum, count string) string {
	middle := "pg_catalog.numeric"
	if f.whole() == "pg_catalog.int4" {
		middle = "pg_catalog.int8"
	}
	sum = f.inSteps(sum, new(big.Int).Lsh(f.values.scale, 1))
	return fmt.Sprintf("%s - CAST(%d AS %s) * %s", sum, f.values.low+f.values.high, middle, count)
}

// A squareSum is the sum of the squares of the distances from the middle of the bounds, each minus half of the largest square.
type squareSum struct {
	summation
	unit int64 // the unit of squares, in squared half steps
}

func newSquareSum(t term) squareSum {
	t.wide = true
	return squareSum{summation{term: t}, squareUnit(t.halfSteps())}
}

// String names the statistic.
func (f squareSum) String() string {
	return fmt.Sprintf("sum of squares of %s from the middle of its bounds in %d squared half steps of %s",
		describe(f.arg), f.unit, f.values.step.RatString())
}

func (f squareSum) ofOneRow(unitBounds) (dp.Sensitivity, error) {
	s, _, err := oneRow.CentredSquares(f.halfSteps(), f.unit)
	return s, err
}

// offset is subtracted from each square. It does not depend on the number of rows of a unit.
func (f squareSum) offset() (int64, error) {
	_, offset, err := oneRow.CentredSquares(f.halfSteps(), f.unit)
	return offset, err
}

// ofRows writes squares in int8 if they are below 2⁶².
func (f squareSum) ofRows(r rowColumns) (string, error) {
	offset, err := f.offset()
	if err != nil {
		return "", err
	}
	d, err := distance(r, f.term)
	d = "(" + d + ")"
	if f.narrow() {
		return sumSQL(fmt.Sprintf("%s * %s / %s - %s", d, d, int8Literal(f.unit), int8Literal(offset))), err
	}
	return sumSQL(fmt.Sprintf("CAST(pg_catalog.div(CAST(%s AS pg_catalog.numeric) * %s, %d) AS pg_catalog.int8) - %s",
		d, d, f.unit, int8Literal(offset))), err
}

// squares returns all that is public about the squares. Rounding is downward, and the offset may be half a unit too small.
func (f squareSum) squares() estimate.Squares {
	unit := f.centred().Unit
	s := estimate.Squares{Unit: new(big.Rat).Mul(unit, unit), Rounding: new(big.Rat)}
	s.Unit.Mul(s.Unit, new(big.Rat).SetInt64(f.unit))
	if f.unit > 1 {
		s.Rounding.Mul(s.Unit, big.NewRat(2, 1))
	}
	return s
}

// A summation is the common part of sums over one argument.
type summation struct {
	term
	single
}

func (f summation) terms() []term { return []term{f.term} }

func (summation) counts() bool { return false }

func (summation) additive() bool { return true }

func sumSQL(x string) string { return "pg_catalog.sum(" + x + ")" }

func (f summation) summed() term { return f.term }

// inSteps converts a sum of values to a sum of integers; scale is the number of steps in 1.
func (f summation) inSteps(sum string, scale *big.Int) string {
	sum += " * " + scale.String()
	if f.whole() == "pg_catalog.int4" {
		return "CAST(" + sum + " AS pg_catalog.int8)"
	}
	return "pg_catalog.round(" + sum + ")" // a whole number, without decimals
}

// distance writes the distance of a value from the middle of its bounds, in half steps.
func distance(r rowColumns, t term) (string, error) {
	x, err := r.integer(t)
	return fmt.Sprintf("2 * %s - (%s)", x, literalOf(t.values.low+t.values.high, t.whole())), err
}

// squareUnit is the unit of squares of distances up to half the range: the largest square is about 2³⁰ units, so that rounding to a unit is
// far below any noise.
func squareUnit(r dp.Range) int64 {
	h := new(big.Int).SetUint64(r.Half())
	h.Mul(h, h).Rsh(h, 30)
	if !h.IsInt64() || h.Int64() < 1 {
		return 1
	}
	return h.Int64()
}
