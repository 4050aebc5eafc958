package planner

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A term is an argument of statistics with the lattice that its values are brought onto, or
// without one where they are only counted.
type term struct {
	arg    scalar.Expr
	values lattice
	wide   bool // a number that is computed of the integers needs int8
	inside bool // no value is beyond the bounds
	// of are the columns that the values are computed of, each clamped to its own bounds; none where the values are those of a column.
	of []brought
}

// A brought is a column of which no value beyond its bounds is used.
type brought struct{ column, bounds string }

// equal reports whether two terms are the same values within the same bounds.
func (t term) equal(o term) bool {
	return sameExpr(t.arg, o.arg) && t.values.low == o.values.low && t.values.high == o.values.high
}

// sameInteger reports whether the integers of two terms are the same, in the same type.
func (t term) sameInteger(o term) bool {
	return t.values.step != nil && o.values.step != nil && t.equal(o) && t.whole() == o.whole()
}

// whole is the type that the integers are computed in: int4 where that is surely enough,
// since Postgres sums it much faster.
func (t term) whole() string {
	const enough = 1 << 29
	v := &t.values
	if t.wide || v.low < -enough || v.high > enough || v.high-v.low > enough {
		return "pg_catalog.int8"
	}
	return "pg_catalog.int4"
}

// halfSteps are the bounds in half steps, of which the middle is a whole number.
func (t term) halfSteps() dp.Range {
	return dp.Range{Lower: 2 * t.values.low, Upper: 2 * t.values.high}
}

// centred has all that is public about the distances of the values from the middle of their
// bounds, in half steps.
func (t term) centred() estimate.Values {
	return estimate.Values{
		Low: t.values.value(t.values.low), High: t.values.value(t.values.high),
		Unit: new(big.Rat).Mul(t.values.step, big.NewRat(1, 2)),
	}
}

// centreOnLattice widens the range by a step, if need be, so that its middle is on the
// lattice: then no square or product of distances from it is rounded.
func (t *term) centreOnLattice() { t.values.high += (t.values.high - t.values.low) % 2 }

// describe names an expression for people.
func describe(e scalar.Expr) string {
	if c, ok := scalar.PlainColumn(e); ok {
		return c.Shown()
	}
	if b := scalar.PlainBounded(e); b != nil {
		return b.Name
	}
	return "an expression"
}

// everyValue says that there is no value beyond the bounds, by the type, NaN aside, by the expression, or by constraints and conditions,
// so that none is clamped.
func (t term) everyValue() bool {
	if t.inside || scalar.Unclamped(t.arg) {
		return true
	}
	const least = 12 // digits of 2^unboundedBits that are below it
	of := t.arg.Type()
	digits, known := scalar.Magnitude(t.arg)
	whole := of.Family() == pgtype.IntFamily && pgtype.Bits(of.OID) <= unboundedBits
	return t.values.technical && (whole || known && digits+t.values.digits <= least)
}

// bounds writes the bounds of the values.
func (t term) bounds() string {
	return "[" + t.limitText(t.values.low) + ", " + t.limitText(t.values.high) + "]"
}

// computedOf says of which columns the values are computed, where each is clamped by itself.
func (t term) computedOf() (said string) {
	for i, c := range t.of {
		said += []string{", computed of ", " and "}[min(i, 1)] + c.column + " in " + c.bounds
	}
	return said
}

// beyond names the values that are clamped: those of the columns that the values are computed of, and the values themselves unless
// arithmetic of clamped columns leaves none of them beyond.
func (t term) beyond() (names []string) {
	if t.of == nil || !scalar.Computed(t.arg) {
		names = append(names, describe(t.arg)+" beyond "+t.bounds())
	}
	for _, c := range t.of {
		names = append(names, c.column+" beyond "+c.bounds)
	}
	return names
}

// declared says which bounds of the policy there are for what the values are computed of, beside those of columns.
func (t term) declared() string {
	var said []string
	for _, b := range scalar.BoundedIn(t.arg) {
		said = append(said, fmt.Sprintf("%s (%s in [%s, %s])", b.Name, b.Text, b.Bounds.LowText, b.Bounds.HighText))
	}
	if said == nil {
		return ""
	}
	return ", by the policy's " + strings.Join(said, ", ")
}

func (t term) limitText(n int64) string {
	if of := t.arg.Type(); of.Dated() {
		return of.DateText(n)
	}
	if t.values.digits == 0 {
		return strconv.FormatInt(n, 10)
	}
	return strings.TrimSuffix(strings.TrimRight(t.values.value(n).FloatString(t.values.digits), "0"), ".")
}

func sameExpr(a, b scalar.Expr) bool {
	return a == nil && b == nil || a != nil && b != nil && scalar.Equal(a, b)
}

// narrow says that distances from the middle, in half steps, are below 2³¹.
func (t term) narrow() bool { return t.values.high-t.values.low < 1<<31 }
