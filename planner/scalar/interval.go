package scalar

import (
	"math"
	"math/big"
	"strings"

	"dpproxy/planner/pgtype"
)

// An Interval contains the values of an expression that are not NULL. Its ends are exact, rounded outward: numbers as they are; false and
// true as 0 and 1; dates in days, timestamps and times in microseconds, both since 2000-01-01; intervals in microseconds, with days of 24
// hours and months of 30 days, as in comparisons.
type Interval struct {
	// Low and High are the bounds, or nil. [Env.Bounds] returns both or neither; within this package one of them may be missing. They are
	// shared and must not be changed.
	Low, High *big.Rat
	// Null says that the expression may be NULL.
	Null bool
	// Least is the smallest non-zero absolute value that a number can have, or nil if it is unknown. It protects products and quotients
	// from underflow and overflow. For type numeric it is a power of ten, and all values are multiples of it.
	Least *big.Rat

	// empty says that the only value is NULL.
	empty bool
}

// Constant reports whether the expression has a single value, NULL aside.
func (i Interval) Constant() bool { return i.Bounded() && i.Low.Cmp(i.High) == 0 }

// Bounded reports whether there are bounds.
func (i Interval) Bounded() bool { return i.Low != nil && i.High != nil }

// finite reports whether there are bounds that arithmetic can use.
func (i Interval) finite() bool { return i.Bounded() && i.Least != nil }

// magnitude is the largest absolute value.
func (i Interval) magnitude() *big.Rat {
	l, h := new(big.Rat).Abs(i.Low), new(big.Rat).Abs(i.High)
	return larger(l, h)
}

// holdsZero reports whether 0 is possible.
func (i Interval) holdsZero() bool { return i.Low.Sign() <= 0 && i.High.Sign() >= 0 }

// within reports whether i is contained in o.
func (i Interval) within(o Interval) bool {
	return i.empty || i.Bounded() && i.Low.Cmp(o.Low) >= 0 && i.High.Cmp(o.High) <= 0
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func smaller(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

func larger(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// span returns an interval of whole numbers that is never NULL.
func span(low, high int64) Interval {
	return Interval{Low: rat(low), High: rat(high), Least: rat(1)}
}

// hull returns the smallest interval that contains several.
func hull(list ...Interval) Interval {
	out := Interval{empty: true}
	for _, i := range list {
		null := out.Null || i.Null
		switch {
		case i.empty:
		case out.empty:
			out = i
		default:
			out = Interval{
				Low: pickEnd(out.Low, i.Low, smaller), High: pickEnd(out.High, i.High, larger),
				Least: pickEnd(out.Least, i.Least, smaller),
			}
		}
		out.Null = null
	}
	return out
}

// pickEnd picks one of two ends. nil is an unknown end, and is always picked.
func pickEnd(a, b *big.Rat, pick func(a, b *big.Rat) *big.Rat) *big.Rat {
	if a == nil || b == nil {
		return nil
	}
	return pick(a, b)
}

// intersect returns the values in both intervals; if there are none, a single value.
func (i Interval) intersect(o Interval) Interval {
	out := i
	if out.Low == nil || o.Low != nil && o.Low.Cmp(out.Low) > 0 {
		out.Low = o.Low
	}
	if out.High == nil || o.High != nil && o.High.Cmp(out.High) < 0 {
		out.High = o.High
	}
	if out.Bounded() && out.Low.Cmp(out.High) > 0 {
		out.High = out.Low
	}
	return out
}

// Rounding.

func floor(r *big.Rat) *big.Rat { return new(big.Rat).SetInt(pgtype.Floor(r)) }

func ceil(r *big.Rat) *big.Rat { return new(big.Rat).SetInt(pgtype.Ceil(r)) }

func towardZero(r *big.Rat) *big.Rat {
	if r.Sign() < 0 {
		return ceil(r)
	}
	return floor(r)
}

// power10 returns 10^n.
func power10(n int) *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
	if n < 0 {
		p.Inv(p)
	}
	return p
}

// power2 returns 2^n.
func power2(n int) *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(n, -n))))
	if n < 0 {
		p.Inv(p)
	}
	return p
}

// scaled applies f to r in units of 10^-digits.
func scaled(r *big.Rat, digits int, f func(*big.Rat) *big.Rat) *big.Rat {
	p := power10(digits)
	x := f(new(big.Rat).Mul(r, p))
	return x.Quo(x, p)
}

// decimals returns the smallest n for which 10^-n ≤ least.
func decimals(least *big.Rat) int {
	const digitsPerBit = 0.30102
	bits := least.Denom().BitLen() - least.Num().BitLen() - 1
	n := max(0, int(float64(bits)*digitsPerBit)-1)
	for power10(-n).Cmp(least) > 0 {
		n++
	}
	return n
}

// floatBelow returns the largest double that is not above r.
func floatBelow(r *big.Rat) float64 {
	f, _ := r.Float64()
	if math.IsInf(f, 0) {
		return math.Copysign(math.MaxFloat64, f) // fits refuses such bounds
	}
	if new(big.Rat).SetFloat64(f).Cmp(r) > 0 {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return f
}

// floatAbove returns the smallest double that is not below r.
func floatAbove(r *big.Rat) float64 { return -floatBelow(new(big.Rat).Neg(r)) }

func ratOf(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }

// outward rounds the ends outward to floating-point numbers of the type, by as much as computing with them may round.
func (i Interval) outward(t pgtype.Type) Interval {
	if !i.Bounded() || i.magnitude().Cmp(largestFloat) > 0 {
		return i // fits refuses it
	}
	i.Low, i.High = ratOf(floatBelow(i.Low)), ratOf(floatAbove(i.High))
	if i.Least != nil {
		if f := floatBelow(i.Least); f != 0 { // fits refuses values closer to zero than any double
			i.Least = ratOf(f)
		}
	}
	if t.OID == pgtype.Float4 {
		e := new(big.Rat).Mul(i.magnitude(), power2(-23))
		i.Low, i.High = new(big.Rat).Sub(i.Low, e), new(big.Rat).Add(i.High, e)
		if i.Least != nil {
			i.Least = new(big.Rat).Mul(i.Least, big.NewRat(1, 2))
		}
		// Rounding never crosses zero.
	}
	return i
}

// lowestBit returns the unit in the last place of a double; all doubles that are at least as large are multiples of it.
func lowestBit(least *big.Rat) *big.Rat {
	f, _ := least.Float64()
	_, e := math.Frexp(max(f, math.SmallestNonzeroFloat64))
	return power2(e - 1 - 53)
}

// halfDown and halfUp round to the nearest whole number, and halves down and up.
func halfDown(r *big.Rat) *big.Rat { return ceil(new(big.Rat).Sub(r, big.NewRat(1, 2))) }
func halfUp(r *big.Rat) *big.Rat   { return floor(new(big.Rat).Add(r, big.NewRat(1, 2))) }

// roundedTo bounds a numeric that is rounded to a number of decimals.
func roundedTo(i Interval, digits int) Interval {
	if i.Bounded() {
		i.Low, i.High = scaled(i.Low, digits, halfDown), scaled(i.High, digits, halfUp)
	} else {
		i.Low, i.High = nil, nil
	}
	if least := power10(-max(digits, 0)); i.Least == nil || i.Least.Cmp(least) < 0 {
		i.Least = least
	}
	return i
}

func (i Interval) negative() Interval {
	return Interval{Low: new(big.Rat).Neg(i.High), High: new(big.Rat).Neg(i.Low), Null: i.Null, Least: i.Least}
}

// roundedQuotient allows for the rounding of numeric division: to 16 significant digits, at least to whole numbers, and to at most 24
// decimals more than the size of the quotient requires, or as many as the operands have (select_div_scale in
// src/backend/utils/adt/numeric.c). Rounding keeps the order, so a quotient does not cross a number of few digits: it is rounded to itself.
func roundedQuotient(i, a, b Interval) Interval {
	widen := func(r *big.Rat, sign int64) *big.Rat {
		e := new(big.Rat).Mul(new(big.Rat).Abs(r), power10(-15))
		return e.Add(r, e.Mul(e, big.NewRat(sign, 5)))
	}
	least := new(big.Rat).Quo(a.Least, b.magnitude())
	digits := max(decimals(least)+24, decimals(a.Least), decimals(b.Least))
	if !short(i.Low) {
		i.Low = scaled(larger(widen(i.Low, -1), floor(i.Low)), digits, floor)
	}
	if !short(i.High) {
		i.High = scaled(smaller(widen(i.High, 1), ceil(i.High)), digits, ceil)
	}
	i.Least = power10(-digits)
	return i
}

// short reports whether a number has at most 12 significant digits, at most 12 of them decimals.
func short(r *big.Rat) bool {
	const digits = 12
	shifted := new(big.Rat).Mul(r, power10(digits))
	if !shifted.IsInt() {
		return false
	}
	text := strings.TrimRight(shifted.Num().String(), "0")
	return len(strings.TrimPrefix(text, "-")) <= digits
}

var (
	lowestInt8   = new(big.Rat).SetInt64(-1 << 63)
	highestInt8  = new(big.Rat).SetInt64(1<<63 - 1)
	largestFloat = power10(300)
	leastFloat   = power10(-290)
	largest4     = power10(38)
	least4       = power2(-125)
	largestExact = power10(200)
	leastExact   = power10(-300)
)
