package planner

import (
	"fmt"
	"slices"

	"dpproxy/fold"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// integer writes the value of a term as an integer of its lattice. If it is summed it is a column of the rows, computed once for all
// statistics.
func (r *reader) integer(t term) (string, error) {
	if i := slices.IndexFunc(r.integers, t.sameInteger); i >= 0 {
		return sqltext.Integer(i), nil
	}
	if i := slices.IndexFunc(r.products, func(p product) bool { return p.sameInteger(t) }); i >= 0 {
		return r.multiplied(r.products[i]), nil
	}
	_, physical, err := r.w.Value(t.arg)
	return r.clamped(r.column(t.arg), physical, t), err
}

// clamped writes a value clamped in its own type, scaled, rounded, and clamped again to the integer limits.
func (r *reader) clamped(x string, physical pgtype.Type, t term) string {
	whole := t.whole()
	low, high := literalOf(t.values.low, whole), literalOf(t.values.high, whole)
	return "LEAST(GREATEST(" + r.onLattice(x, physical, t, whole) + ", " + low + "), " + high + ")"
}

// integerColumns writes the columns l of the rows. LEAST and GREATEST ignore NULL, which would then count as a bound; so NULL is excluded.
func (r *reader) integerColumns() ([]sqltext.Column, error) {
	var cols []sqltext.Column
	r.stored = make([]fold.Number, len(r.integers))
	for i, t := range r.integers {
		x, physical, err := r.w.Value(t.arg)
		if err != nil {
			return nil, err
		}
		if r.folds() && !r.isFactor(t) {
			if r.stored[i] = t.stepsOf(physical); r.stored[i].Kind != 0 {
				cols = append(cols, sqltext.Column{SQL: x, As: sqltext.Integer(i)})
				continue
			}
		}
		sql := r.clamped(x, physical, t)
		if r.late(t) {
			sql = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, numericLiteral(t.values.value(t.values.low)),
				numericLiteral(t.values.value(t.values.high)))
		}
		if r.sp.nullable(t.arg) {
			sql = "CASE WHEN " + x + " IS NOT NULL THEN " + sql + " END"
		}
		cols = append(cols, sqltext.Column{SQL: sql, As: sqltext.Integer(i)})
	}
	return cols, nil
}

// summedTerms lists the terms that are summed, each once.
func summedTerms(statistics []*statistic) []term {
	var out []term
	for _, s := range statistics {
		if s.own() != nil {
			continue
		}
		for _, t := range s.terms() {
			if t.values.step != nil && !slices.ContainsFunc(out, t.sameInteger) {
				out = append(out, t)
			}
		}
	}
	return out
}

// onLattice writes a value of a physical type in steps of the lattice. The value is clamped to the bounds before it is scaled, so that
// nothing overflows.
func (r *reader) onLattice(x string, physical pgtype.Type, t term, whole string) string {
	l := &t.values
	low, high := l.value(l.low), l.value(l.high)
	switch physical.Family() { //nolint:exhaustive // the others have no lattice
	case pgtype.IntFamily:
		if l.digits == 0 && l.scale.IsInt64() && l.scale.Int64() == 1 {
			return wholeNumber(x, physical, l, whole)
		}
		return r.onLattice("CAST("+x+" AS pg_catalog.numeric)", pgtype.Of(pgtype.Numeric), t, whole)
	case pgtype.NumericFamily:
		if r.fits(t) {
			return fromTop(x, l, whole)
		}
		if !r.within(t) {
			x = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, numericLiteral(low), numericLiteral(high))
		}
		if digits, known := r.sp.env.Scale(t.arg); known && digits <= l.digits {
			return fmt.Sprintf("CAST(%s * %s AS %s)", x, l.scale, whole) // a whole number
		}
		return fmt.Sprintf("CAST(pg_catalog.round(%s * %s) AS %s)", x, l.scale, whole)
	case pgtype.FloatFamily:
		return fmt.Sprintf("CAST(LEAST(GREATEST(CAST(%s AS pg_catalog.float8), %s), %s) * CAST(%s AS pg_catalog.float8) AS %s)",
			x, pgtype.FloatLiteral(low), pgtype.FloatLiteral(high), l.scale, whole)
	case pgtype.DateFamily, pgtype.InstantFamily:
		return r.since2000(x, physical, l, whole)
	}
	return "CAST(NULL AS pg_catalog.int8)"
}

// within reports whether the bounds of the columns in a computed argument keep its values within the limits of its lattice, without regard
// to WHERE.
func (r *reader) within(t term) bool {
	in, l := r.sp.env.Bounds(t.arg), &t.values
	return scalar.Computed(t.arg) && in.Bounded() && in.Low.Cmp(l.value(l.low)) >= 0 && in.High.Cmp(l.value(l.high)) <= 0
}

// fits reports whether the type of a column alone makes its values, in steps of the lattice, whole numbers within int8, NaN aside.
func (r *reader) fits(t term) bool {
	const surely = 18 // digits of int8
	digits, known := scalar.Magnitude(t.arg)
	scale, exact := r.sp.env.Scale(t.arg)
	return known && exact && scale <= t.values.digits && digits+t.values.digits <= surely
}

// late reports whether a number is summed as it is, and the sum converted to the lattice, which saves a multiplication and a cast for each
// row. Its type must have no decimals beyond the lattice, and nothing else may use its integer. Numerics are summed exactly, in any order.
// A sum in int8 has as much room as a sum of integers.
func (r *reader) late(t term) bool {
	return !r.folds() && t.arg.Type().Family() == pgtype.NumericFamily && r.fits(t) && !r.isFactor(t) &&
		slices.ContainsFunc(r.statistics, t.summedLate) && !slices.ContainsFunc(r.statistics, t.neededSoon)
}

func (t term) summedLate(s *statistic) bool {
	_, late := s.statisticForm.(lateForm)
	return late && slices.ContainsFunc(s.terms(), t.sameInteger)
}

func (t term) neededSoon(s *statistic) bool {
	_, late := s.statisticForm.(lateForm)
	return !late && slices.ContainsFunc(s.terms(), t.sameInteger)
}

// fromTop clamps a number whose values fit into int8 to the upper bound as a numeric, so that NaN is clamped too, and to the lower bound as
// an integer, which is faster.
func fromTop(x string, l *lattice, whole string) string {
	x = fmt.Sprintf("CAST(LEAST(%s, %s) * %s AS pg_catalog.int8)", x, numericLiteral(l.value(l.high)), l.scale)
	if whole == "pg_catalog.int8" {
		return x
	}
	return fmt.Sprintf("CAST(GREATEST(%s, %s) AS %s)", x, int8Literal(l.low), whole)
}

// since2000 counts days or microseconds.
func (r *reader) since2000(x string, t pgtype.Type, l *lattice, whole string) string {
	low, high := t.DateLiteral(l.low), t.DateLiteral(l.high)
	x = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, low, high)
	if t.OID == pgtype.Date {
		return "CAST((" + x + " OPERATOR(pg_catalog.-) " + t.DateLiteral(0) + ") AS " + whole + ")"
	}
	return "CAST(pg_catalog.round(pg_catalog.date_part('epoch', " + x + ") * 1000000) AS pg_catalog.int8) - 946684800000000"
}

// wholeNumber clamps an integer in its own type before it is cast.
func wholeNumber(x string, t pgtype.Type, l *lattice, whole string) string {
	if t.OID == pgtype.Int8 && whole == "pg_catalog.int4" {
		x = fmt.Sprintf("LEAST(GREATEST(%s, %s), %s)", x, int8Literal(l.low), int8Literal(l.high))
	}
	if t.OID == pgtype.Int4 && whole == "pg_catalog.int4" {
		return x
	}
	return "CAST(" + x + " AS " + whole + ")"
}
