package scalar

import (
	"math"
	"math/big"

	"dpproxy/planner/pgtype"
)

// The rules of roots, logarithms and powers. If Postgres raises (a root or logarithm of a negative number, a logarithm of zero, zero to a
// negative power) they are NULL, like a quotient by zero.

var (
	squareRoot = elementary(4, func(x, _ Interval) (Interval, domain) {
		least, _ := x.Least.Float64()
		return monotone(x, notNegative, math.Sqrt, 0, math.Sqrt(least)), notNegative
	})
	exponential = elementary(32, func(x, _ Interval) (Interval, domain) {
		return monotone(x, anyNumber, math.Exp, 0, math.Exp(floatBelow(x.Low))), anyNumber
	})
	logarithm = elementary(32, func(x, _ Interval) (Interval, domain) {
		return monotone(x, positive, math.Log, 1, nearOne(x)), positive
	})
	logarithm10 = elementary(32, func(x, _ Interval) (Interval, domain) {
		return monotone(x, positive, math.Log10, 1, nearOne(x)), positive
	})
	// raised is a number raised to a constant power.
	raised = &rule{
		constants: []int{1},
		bounds:    elementaryBounds(powerBounds),
		cost:      elementaryCost(64),
		write:     writeElementary(powerBounds),
	}
)

// A domain is the set of numbers for which a function has values.
type domain uint8

const (
	anyNumber domain = iota
	notNegative
	positive
	notZero
)

// A shape bounds a function of a number and perhaps a second argument, and returns its domain. It returns no bounds if values are too
// large, or too close to zero, to compute with.
type shape func(x, by Interval) (Interval, domain)

// elementary is a function of a number that takes a number of steps if it is a numeric with few digits.
func elementary(steps int64, f shape) *rule {
	return &rule{bounds: elementaryBounds(f), cost: elementaryCost(steps), write: writeElementary(f)}
}

// elementaryCost is the cost for a numeric. Postgres computes at least 16 digits of the result, and as many as the argument has.
func elementaryCost(steps int64) func(*costing, *call) int64 {
	return func(c *costing, e *call) int64 {
		n := added(functionCost(c, e), 1)
		if e.typ.Float() {
			return n
		}
		const digitsPerStep = 16
		i := c.env.interval(e.args[0])
		if out := c.env.interval(e); i.finite() && out.finite() {
			whole := len(larger(i.magnitude(), out.magnitude()).FloatString(0))
			digits := int64(decimals(i.Least)+decimals(out.Least)+whole) / digitsPerStep
			return added(n, product(steps, product(1+digits, 1+digits)))
		}
		return n
	}
}

// elementaryBounds bounds a function of numbers.
func elementaryBounds(f shape) func(*Env, *call) Interval {
	return arithmetic(func(c *call, i ...Interval) Interval {
		by := Interval{}
		if len(i) > 1 {
			by = i[1]
		}
		out, of := f(i[0], by)
		out.Null = out.Null || of.excludes(i[0])
		if out.finite() && !c.typ.Float() {
			out.Least = power10(-numericDecimals(c.fn.name, i[0], by, out.Least))
		}
		return out
	})
}

// numericDecimals bounds the decimals of a numeric result whose absolute value is zero or at least least: as many as the arguments have, or
// 16 significant digits by Postgres's estimate (numeric_sqrt and its kin in src/backend/utils/adt/numeric.c).
func numericDecimals(name string, x, by Interval, least *big.Rat) int {
	const significant = 20
	digits := decimals(x.Least)
	if by.Least != nil {
		digits = max(digits, decimals(by.Least))
	}
	if name == "sqrt" { // estimated in steps of four digits
		return max(digits, significant+4+(digits+1)/2)
	}
	return max(digits, significant+decimals(least))
}

// excludes reports whether an interval has numbers outside of the domain.
func (d domain) excludes(i Interval) bool {
	switch d {
	case notNegative:
		return i.Low.Sign() < 0
	case positive:
		return i.Low.Sign() <= 0
	case notZero:
		return i.holdsZero()
	case anyNumber:
	}
	return false
}

// monotone bounds an increasing function on its domain. Its error is that of doubles, relative to the value and to absolute; its values are
// zero or at least least in absolute value.
func monotone(i Interval, of domain, f func(float64) float64, absolute, least float64) Interval {
	low, high, ok := of.ends(i)
	if !ok {
		return nothing()
	}
	return floatSpan(f(low), f(high), absolute, least)
}

// ends returns the smallest and the largest number of an interval within the domain.
func (d domain) ends(i Interval) (low, high float64, ok bool) {
	l, h := i.Low, i.High
	switch {
	case d == notNegative && l.Sign() < 0:
		l = new(big.Rat)
	case d == positive && l.Sign() <= 0:
		l = smaller(i.Least, h)
	}
	if l.Cmp(h) > 0 || d == positive && h.Sign() <= 0 {
		return 0, 0, false
	}
	return floatBelow(l), floatAbove(h), true
}

// nothing is the interval of a value that is always NULL.
func nothing() Interval {
	return Interval{Low: new(big.Rat), High: new(big.Rat), Null: true, Least: rat(1)}
}

// floatSpan is the interval of values that are computed in doubles, whose non-zero values are at least least in absolute value. It has no
// bounds if the values are too large or too small for doubles.
func floatSpan(low, high, absolute, least float64) Interval {
	const e = 1e-12
	if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 0) || math.IsInf(high, 0) || least <= 0 {
		return Interval{}
	}
	return Interval{
		Low: ratOf(low - e*(math.Abs(low)+absolute)), High: ratOf(high + e*(math.Abs(high)+absolute)),
		Least: new(big.Rat).Mul(ratOf(least), big.NewRat(1, 2)),
	}
}

// nearOne is about the smallest absolute value of a logarithm, to base e or 10, of a number other than 1. Numerics are multiples of their
// least value; doubles next to 1 are 2^-53 apart.
func nearOne(i Interval) float64 {
	least, _ := i.Least.Float64()
	return min(least, 0x1p-53) / 4
}

// powerBounds bounds a number raised to a constant power. A whole power is monotone on each side of zero.
func powerBounds(x, by Interval) (Interval, domain) {
	const largest = 100 // doubles are of no use for larger powers
	if !by.Constant() || by.magnitude().Cmp(rat(largest)) > 0 {
		return Interval{}, anyNumber
	}
	y, _ := by.Low.Float64()
	of := anyNumber
	switch {
	case !by.Low.IsInt() && y < 0:
		of = positive
	case !by.Low.IsInt():
		of = notNegative
	case y < 0:
		of = notZero
	}
	var parts []Interval
	add := func(a, b float64) {
		p, q := math.Pow(a, y), math.Pow(b, y)
		parts = append(parts, floatSpan(min(p, q), max(p, q), 0, min(math.Abs(p), math.Abs(q))))
	}
	if low, high, ok := positive.ends(x); ok {
		add(low, high)
	}
	if low, high, ok := positive.ends(x.negative()); ok && by.Low.IsInt() {
		add(-high, -low)
	}
	if x.holdsZero() && of != positive && of != notZero {
		zero := math.Pow(0, y)
		parts = append(parts, Interval{Low: ratOf(zero), High: ratOf(zero), Least: rat(1)})
	}
	if len(parts) == 0 {
		return nothing(), of
	}
	return hull(parts...), of
}

// writeElementary writes a function of a number, which is NULL outside of the domain.
func writeElementary(f shape) func(*Writer, *call) (fragment, error) {
	return func(w *Writer, c *call) (fragment, error) {
		return computed(func(w *Writer, c *call, t pgtype.Type, x []string) string {
			i, by := w.Env.interval(c.args[0]), Interval{}
			if len(c.args) > 1 {
				by = w.Env.interval(c.args[1])
			}
			if i.finite() && !i.empty {
				if _, of := f(i, by); of.excludes(i) {
					x[0] = of.sql(x[0], i, t)
				}
			}
			return c.fn.sql(x...)
		})(w, c)
	}
}

// sql writes a number, with NULL in place of numbers outside of the domain. No number lies between zero and the least value.
func (d domain) sql(x string, i Interval, t pgtype.Type) string {
	zero := numericLiteral(new(big.Rat), 0)
	if t.Float() {
		zero = pgtype.FloatLiteral(new(big.Rat))
	}
	last := zero // the number next to the domain
	switch d {
	case notNegative:
		last = "CAST('-" + i.Least.FloatString(decimals(i.Least)) + "' AS pg_catalog.numeric)"
		if t.Float() {
			last = pgtype.FloatLiteral(ratOf(-floatBelow(i.Least)))
		}
	case notZero:
		return "NULLIF(" + x + ", " + zero + ")"
	case anyNumber, positive:
	}
	return "NULLIF(GREATEST(" + x + ", " + last + "), " + last + ")"
}
