package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/planner/scalar"
)

// lattice writes what a row contributes to a sum or histogram.
func (r *reader) lattice(m *measureOf) (string, error) {
	whole := wholeType(m)
	x, err := r.whole(m)
	if err != nil {
		return "", err
	}
	middle := literalOf(m.values.low+m.values.high, whole)
	switch m.kind { //nolint:exhaustive // the others are the value itself
	case sumValues:
		return r.withinSum(x, m, whole), nil
	case sumCentred:
		return fmt.Sprintf("2 * %s - (%s)", x, middle), nil
	case sumSquares:
		return r.square(fmt.Sprintf("(2 * %s - (%s))", x, middle), m), nil
	}
	return x, nil
}

// whole writes the value of a measure's argument as an integer of its lattice. For sums it
// is a column of the rows, computed once for all measures that need it.
func (r *reader) whole(m *measureOf) (string, error) {
	for i, have := range r.integers {
		if have.sameValue(m) {
			return "l" + strconv.Itoa(i+1), nil
		}
	}
	_, t, err := r.w.Value(m.arg)
	return r.clamped("c"+strconv.Itoa(indexOf(r.args, m.arg)+1), t, m), err
}

// clamped writes a value in its own type clamped, scaled, rounded, and clamped again to the
// integer limits.
func (r *reader) clamped(x string, t scalar.Type, m *measureOf) string {
	whole := wholeType(m)
	return fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", r.integer(x, t, m, whole), literalOf(m.values.low, whole), literalOf(m.values.high, whole))
}

// integerColumns writes the columns l of the rows. LEAST and GREATEST pass NULL over, so
// that it would count as a bound.
func (r *reader) integerColumns() ([]string, error) {
	var cols []string
	for i, m := range r.integers {
		x, t, err := r.w.Value(m.arg)
		if err != nil {
			return nil, err
		}
		sql := r.clamped(x, t, m)
		if r.bd.env.Narrowed(m.arg, r.bd.b.source.conjuncts()).Null {
			sql = "CASE WHEN " + x + " IS NOT NULL THEN " + sql + " END"
		}
		cols = append(cols, sql+" AS l"+strconv.Itoa(i+1))
	}
	return cols, nil
}

// sameValue reports whether two measures sum the same integers of a row, up to what they
// make of them.
func (m *measureOf) sameValue(o *measureOf) bool {
	return m.arg != nil && o.arg != nil && m.values.step != nil && o.values.step != nil && scalar.Equal(m.arg, o.arg) &&
		m.values.low == o.values.low && m.values.high == o.values.high && wholeType(m) == wholeType(o)
}

// sums lists the values that are summed, each once.
func sums(measures []*measureOf) []*measureOf {
	var out []*measureOf
	for _, m := range measures {
		if m.kind != histogram && m.values.step != nil && !slices.ContainsFunc(out, m.sameValue) {
			out = append(out, m)
		}
	}
	return out
}

// withinSum clamps the only row that a unit has to what the unit may add to a sum. Where
// a unit can have several rows, what they add up to is clamped.
func (r *reader) withinSum(x string, m *measureOf, whole string) string {
	if c := r.part.contribution; !c.unique || c.maxSum == nil {
		return x
	}
	limit := m.sensitivity.LInf
	return fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, literalOf(-limit, whole), literalOf(limit, whole))
}

// wholeType is the type that a row's contribution is computed in: int4 where that is
// surely enough, since Postgres sums it much faster.
func wholeType(m *measureOf) string {
	const enough = 1 << 29
	v := &m.values
	if m.kind == sumSquares || v.low < -enough || v.high > enough || v.high-v.low > enough {
		return "pg_catalog.int8"
	}
	return "pg_catalog.int4"
}

// square writes a square in units of m.unit, less the offset. It is at most 2⁶² where
// int8 is used.
func (r *reader) square(d string, m *measureOf) string {
	if m.values.high-m.values.low < 1<<31 {
		return fmt.Sprintf("%s * %s / %s - %s", d, d, int8Literal(m.unit), int8Literal(m.offset))
	}
	return fmt.Sprintf("CAST(pg_catalog.div(CAST(%s AS pg_catalog.numeric) * %s, %d) AS pg_catalog.int8) - %s", d, d, m.unit, int8Literal(m.offset))
}

// integer writes a value of a physical type in steps of the lattice. It is clamped to the
// bounds before it is scaled, so that nothing overflows.
func (r *reader) integer(x string, t scalar.Type, m *measureOf, whole string) string {
	l := &m.values
	low, high := l.value(l.low), l.value(l.high)
	switch t.Family() { //nolint:exhaustive // the others have no lattice
	case scalar.IntFamily:
		if l.digits == 0 && l.scale.IsInt64() && l.scale.Int64() == 1 {
			return wholeNumber(x, t, l, whole)
		}
		return r.integer("CAST("+x+" AS pg_catalog.numeric)", scalar.Builtin(oidNumeric), m, whole)
	case scalar.NumericFamily:
		if r.fits(m) {
			return fromTop(x, l, whole)
		}
		if !r.within(m) {
			x = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, numericLiteral(low), numericLiteral(high))
		}
		if digits, known := r.bd.env.Scale(m.arg); known && digits <= l.digits {
			return fmt.Sprintf("CAST(%s * %s AS %s)", x, l.scale, whole) // a whole number
		}
		return fmt.Sprintf("CAST(pg_catalog.round(%s * %s) AS %s)", x, l.scale, whole)
	case scalar.FloatFamily:
		return fmt.Sprintf("CAST(LEAST(GREATEST(CAST(%s AS pg_catalog.float8), %s), %s) * CAST(%s AS pg_catalog.float8) AS %s)",
			x, floatLiteral(low), floatLiteral(high), l.scale, whole)
	case scalar.DateFamily, scalar.InstantFamily:
		return r.since2000(x, t, l, whole)
	}
	return "CAST(NULL AS pg_catalog.int8)"
}

// within reports whether the values of a computed argument are within the limits of its
// lattice by what they are computed from, without regard to WHERE.
func (r *reader) within(m *measureOf) bool {
	in, l := r.bd.env.Bounds(m.arg), &m.values
	return scalar.Computed(m.arg) && in.Bounded() && in.Low.Cmp(l.value(l.low)) >= 0 && in.High.Cmp(l.value(l.high)) <= 0
}

// fits reports whether the type of a column alone keeps its values, in steps of the
// lattice, whole and within int8; NaN aside.
func (r *reader) fits(m *measureOf) bool {
	const surely = 18 // digits of int8
	digits, known := scalar.Magnitude(m.arg)
	scale, exact := r.bd.env.Scale(m.arg)
	return known && exact && scale <= m.values.digits && digits+m.values.digits <= surely
}

// fromTop brings a number whose values fit into int8 to the upper bound as it is, NaN too,
// and to the lower bound as an integer, which is quicker.
func fromTop(x string, l *lattice, whole string) string {
	x = fmt.Sprintf("CAST(LEAST(%s, %s) * %s AS pg_catalog.int8)", x, numericLiteral(l.value(l.high)), l.scale)
	if whole == "pg_catalog.int8" {
		return x
	}
	return fmt.Sprintf("CAST(GREATEST(%s, %s) AS %s)", x, int8Literal(l.low), whole)
}

// since2000 counts days or microseconds.
func (r *reader) since2000(x string, t scalar.Type, l *lattice, whole string) string {
	low, high := timeText(t, l.low), timeText(t, l.high)
	x = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, low, high)
	if t.OID == oidDate {
		return "CAST((" + x + " OPERATOR(pg_catalog.-) " + timeText(t, 0) + ") AS " + whole + ")"
	}
	return "CAST(pg_catalog.round(pg_catalog.date_part('epoch', " + x + ") * 1000000) AS pg_catalog.int8) - 946684800000000"
}

// wholeNumber brings an integer into the limits in its own type before it is cast.
func wholeNumber(x string, t scalar.Type, l *lattice, whole string) string {
	if t.OID == oidInt8 && whole == "pg_catalog.int4" {
		x = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, int8Literal(l.low), int8Literal(l.high))
	}
	if t.OID == oidInt4 && whole == "pg_catalog.int4" {
		return x
	}
	return "CAST(" + x + " AS " + whole + ")"
}

func literalOf(n int64, whole string) string { return fmt.Sprintf("CAST(%d AS %s)", n, whole) }

func int8Literal(n int64) string { return fmt.Sprintf("CAST(%d AS pg_catalog.int8)", n) }

func numericLiteral(r *big.Rat) string {
	text := r.FloatString(30)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return "CAST(" + text + " AS pg_catalog.numeric)"
}

func floatLiteral(r *big.Rat) string {
	f, _ := r.Float64()
	return "CAST('" + strconv.FormatFloat(f, 'g', -1, 64) + "' AS pg_catalog.float8)"
}
