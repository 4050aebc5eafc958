package planner

import (
	"cmp"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A term is an argument of statistics, with the lattice to which its values are rounded, or without a lattice if they are only counted.
type term struct {
	arg    scalar.Expr
	values lattice
	wide   bool // a number computed from the integers needs int8
	inside bool // no value is beyond the bounds
	// of are the columns from which the values are computed, each clamped to its own bounds; empty if the values are a column.
	of []brought
}

// A brought is a column whose values beyond its bounds are moved to the bounds.
type brought struct{ column, bounds string }

// equal reports whether two terms have the same values within the same bounds.
func (t term) equal(o term) bool {
	return sameExpr(t.arg, o.arg) && t.values.low == o.values.low && t.values.high == o.values.high
}

// sameInteger reports whether two terms have the same integers, in the same type.
func (t term) sameInteger(o term) bool {
	return t.values.step != nil && o.values.step != nil && t.equal(o) && t.whole() == o.whole()
}

// whole is the type in which the integers are computed: int4 if it surely suffices, since Postgres sums it much faster.
func (t term) whole() string {
	const enough = 1 << 29
	v := &t.values
	if t.wide || v.low < -enough || v.high > enough || v.high-v.low > enough {
		return "pg_catalog.int8"
	}
	return "pg_catalog.int4"
}

// halfSteps returns the bounds in half steps, whose middle is a whole number.
func (t term) halfSteps() dp.Range {
	return dp.Range{Lower: 2 * t.values.low, Upper: 2 * t.values.high}
}

// centred returns all that is public about the distances of the values from the middle of their bounds, in half steps.
func (t term) centred() estimate.Values {
	return estimate.Values{
		Low: t.values.value(t.values.low), High: t.values.value(t.values.high),
		Unit: new(big.Rat).Mul(t.values.step, big.NewRat(1, 2)),
	}
}

// centreOnLattice widens the range by at most one step so that its middle is on the lattice: then no square or product of distances from it
// is rounded.
func (t *term) centreOnLattice() { t.values.high += (t.values.high - t.values.low) % 2 }

// describe names an expression for people.
func describe(e scalar.Expr) string {
	if c, ok := scalar.PlainColumn(e); ok {
		return c.Shown()
	}
	if b := scalar.PlainBounded(e); b != nil {
		return b.Name
	}
	return cmp.Or(scalar.NameOf(e), anExpression)
}

// anExpression stands for an expression that has no name.
const anExpression = "an expression"

// everyValue reports whether no value is clamped, because the type (NaN aside), the expression, constraints or conditions leave no value
// beyond the bounds.
func (t term) everyValue() bool {
	if t.inside || scalar.Unclamped(t.arg) {
		return true
	}
	const least = 12 // digits of 10^12 < 2^unboundedBits
	of := t.arg.Type()
	digits, known := scalar.Magnitude(t.arg)
	whole := of.Family() == pgtype.IntFamily && pgtype.Bits(of.OID) <= unboundedBits
	return t.values.technical && (whole || known && digits+t.values.digits <= least)
}

// bounds writes the bounds of the values.
func (t term) bounds() string {
	return "[" + t.limitText(t.values.low) + ", " + t.limitText(t.values.high) + "]"
}

// computedOf names the columns from which the values are computed, each of which is clamped separately.
func (t term) computedOf() (said string) {
	for i, c := range t.of {
		said += []string{", computed of ", " and "}[min(i, 1)] + c.column + " in " + c.bounds
	}
	return said
}

// beyond names the values that are clamped: the columns from which the values are computed, and the values themselves unless arithmetic
// with clamped columns keeps them within their bounds.
func (t term) beyond() (names []string) {
	if t.of == nil || !scalar.Computed(t.arg) {
		name := describe(t.arg)
		if name == anExpression {
			name = "computed values"
		}
		names = append(names, name+" beyond "+t.bounds())
	}
	for _, c := range t.of {
		names = append(names, c.column+" beyond "+c.bounds)
	}
	return names
}

// declared names the bounds that the policy declares for expressions in the argument, and those that constraints imply.
func (t term) declared() (said string) {
	var declared, implied []string
	for _, b := range scalar.BoundedIn(t.arg) {
		within := fmt.Sprintf(" in [%s, %s]", b.Bounds.LowText, b.Bounds.HighText)
		if b.Text == "" {
			implied = append(implied, b.Name+within)
		} else {
			declared = append(declared, fmt.Sprintf("%s (%s%s)", b.Name, b.Text, within))
		}
	}
	if declared != nil {
		said = ", by the policy's " + strings.Join(declared, ", ")
	}
	if implied != nil {
		said += ", by a CHECK: " + strings.Join(implied, ", ")
	}
	return said
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

// narrow reports whether distances from the middle, in half steps, are below 2³¹.
func (t term) narrow() bool { return t.values.high-t.values.low < 1<<31 }
