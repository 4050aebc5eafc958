package scalar

import (
	"math"
	"math/big"
	"strconv"
	"time"

	"dpproxy/planner/pgtype"
)

// A line is the values that a number, a date or a time can have within its bounds, in their order.
type line struct {
	low, high *big.Rat
	// unit is the distance of neighbours; nil of floating-point numbers, which have narrow's.
	unit   *big.Rat
	narrow bool // float4
	// least is the smallest floating-point number above zero that there is, nil if all can be.
	least *big.Rat
	// clock is the time zone whose days are tried as edges.
	clock *time.Location
	text  func(*big.Rat) string
	typ   pgtype.Type
}

// lineOf returns the values of a type within an interval. digits is the number of decimals of a numeric. ok is false for types whose values
// are not in a row.
func lineOf(t pgtype.Type, in Interval, digits int) (l line, ok bool) {
	if !in.Bounded() || t.Array {
		return l, false
	}
	l = line{low: in.Low, high: in.High, clock: time.UTC, typ: t}
	switch {
	case t.Whole():
		l.unit, l.text = rat(1), func(r *big.Rat) string { return r.Num().String() }
	case t.Decimal():
		l.unit, l.text = power10(-digits), func(r *big.Rat) string { return r.FloatString(digits) }
	case t.Float():
		l.narrow = t.OID == pgtype.Float4
		l.text = func(r *big.Rat) string { f, _ := r.Float64(); return strconv.FormatFloat(f, 'g', -1, 64) }
		l.low, l.high = l.after(l.low), l.before(l.high)
		return l, true
	case t.OID == pgtype.Interval: // a difference of two times
		l.unit, l.text = rat(1), func(r *big.Rat) string { return pgtype.SpanText(new(big.Rat).Quo(r, rat(1_000_000))) }
	case t.Dated():
		if !in.within(years(t)) {
			return l, false
		}
		l.unit, l.text = rat(1), func(r *big.Rat) string { return t.DateText(r.Num().Int64()) }
	default:
		return l, false
	}
	l.low, l.high = scaledBy(l.low, l.unit, ceil), scaledBy(l.high, l.unit, floor)
	return l, true
}

// empty reports whether there are no values.
func (l *line) empty() bool { return l.low.Cmp(l.high) > 0 }

// count returns the number of values; ok is false if there are more than most.
func (l *line) count(most int64) (n int64, ok bool) {
	if l.unit == nil {
		return 0, l.low.Cmp(l.high) == 0
	}
	steps := new(big.Rat).Quo(new(big.Rat).Sub(l.high, l.low), l.unit).Num()
	return max(steps.Int64()+1, 0), steps.IsInt64() && steps.Int64() < most
}

// next and prev return the neighbours of a value.
func (l *line) next(r *big.Rat) *big.Rat {
	if l.unit == nil {
		return l.neighbour(r, math.Inf(1))
	}
	return new(big.Rat).Add(r, l.unit)
}

func (l *line) prev(r *big.Rat) *big.Rat {
	if l.unit == nil {
		return l.neighbour(r, math.Inf(-1))
	}
	return new(big.Rat).Sub(r, l.unit)
}

func (l *line) neighbour(r *big.Rat, toward float64) *big.Rat {
	f, _ := r.Float64()
	if l.narrow {
		return ratOf(float64(math.Nextafter32(float32(f), float32(toward))))
	}
	next := ratOf(math.Nextafter(f, toward))
	if !l.tiny(next) {
		return next
	}
	if r.Sign() != 0 {
		return new(big.Rat)
	}
	return new(big.Rat).Mul(l.least, rat(int64(next.Sign())))
}

// tiny reports whether a number is closer to zero than any value.
func (l *line) tiny(r *big.Rat) bool {
	return l.least != nil && r.Sign() != 0 && new(big.Rat).Abs(r).Cmp(l.least) < 0
}

// above is a line without the numbers that are closer to zero than some number.
func (l line) above(least *big.Rat) line {
	l.least = l.after(least)
	if l.tiny(l.low) {
		l.low = l.next(l.low)
	}
	if l.tiny(l.high) {
		l.high = l.prev(l.high)
	}
	return l
}

// after returns the first floating-point number that is not below r, and before the last that is not above it.
func (l *line) after(r *big.Rat) *big.Rat {
	f := l.nearest(r)
	for f.Cmp(r) < 0 {
		f = l.next(f)
	}
	return f
}

func (l *line) before(r *big.Rat) *big.Rat {
	f := l.nearest(r)
	for f.Cmp(r) > 0 {
		f = l.prev(f)
	}
	return f
}

func (l *line) nearest(r *big.Rat) *big.Rat {
	if l.narrow {
		f, _ := r.Float32()
		return ratOf(float64(f))
	}
	f, _ := r.Float64()
	return ratOf(f)
}

// edges are the units of time, in microseconds, at whose multiples cells are cut, the longest first.
var edges = []int64{
	4096 * pgtype.MicrosPerDay, 256 * pgtype.MicrosPerDay, 16 * pgtype.MicrosPerDay, pgtype.MicrosPerDay, pgtype.MicrosPerDay / 24,
	pgtype.MicrosPerDay / 96, 60_000_000, 1_000_000, 1_000, 1,
}

// middle returns a value near the middle of two different values, above the first and not above the second, as round as it can be: edges
// of expressions are mostly round.
func (l *line) middle(low, high *big.Rat) *big.Rat {
	half := new(big.Rat).Sub(high, low)
	if l.unit != nil { // both ends count
		half.Add(half, l.unit)
	}
	half.Quo(half, rat(2))
	mid := new(big.Rat).Add(low, half)
	if l.typ.OID == pgtype.Interval || l.typ.Dated() && l.typ.OID != pgtype.Date {
		return l.moment(mid, half, high)
	}
	step := power10(magnitudeOf(half))
	if step.Cmp(half) > 0 {
		step.Quo(step, rat(10))
	}
	m := scaledBy(mid, step, floor)
	if l.unit == nil {
		if m = l.after(m); l.tiny(m) {
			m = l.next(m)
		}
	} else {
		m = scaledBy(m, l.unit, ceil)
	}
	if m.Cmp(low) <= 0 || m.Cmp(high) > 0 {
		return l.next(low)
	}
	return m
}

// magnitudeOf returns about the logarithm of a positive number.
func magnitudeOf(r *big.Rat) int {
	f, _ := r.Float64()
	return int(math.Floor(math.Log10(max(f, math.SmallestNonzeroFloat64))))
}

// moment is middle of times.
func (l *line) moment(mid, half, high *big.Rat) *big.Rat {
	micros := floor(mid).Num().Int64()
	for _, edge := range edges {
		if half.Cmp(rat(edge)) < 0 {
			continue
		}
		_, seconds := pgtype.Moment(micros).In(l.clock).Zone()
		offset := int64(seconds) * 1_000_000
		at := floorDiv(micros+offset, edge)*edge - offset
		return rat(at)
	}
	return high
}
