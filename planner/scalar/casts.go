package scalar

import (
	"math/big"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// convertible reports whether there is a cast of a column's values that cannot fail, or that cannot fail if bounds prove it.
func convertible(from, to pgtype.Type) bool {
	f, t := from.Family(), to.Family()
	switch {
	case from.Array || to.Array || f == pgtype.NoFamily || t == pgtype.NoFamily || to.Named():
		return false
	case to.RoundsWhole(),
		(to.OID == pgtype.Timestamp || to.OID == pgtype.Timestamptz || to.OID == pgtype.Time) && to.Mod >= 0:
		return false // a negative scale, or a precision coarser than microseconds
	case from.Number() && to.Number(), from.Dated() && to.Dated(), f == pgtype.TextFamily && t == pgtype.TextFamily:
		return true
	case t == pgtype.TextFamily:
		return to.OID != pgtype.Bpchar && (f == pgtype.IntFamily || f == pgtype.NumericFamily || f == pgtype.BoolFamily ||
			f == pgtype.UUIDFamily || f == pgtype.EnumFamily)
	case from.OID == pgtype.Int4 && t == pgtype.BoolFamily, f == pgtype.BoolFamily && to.OID == pgtype.Int4:
		return true
	}
	return from.Same(to) && f != pgtype.IntervalFamily && f != pgtype.TimeFamily
}

// castBounds returns the bounds of a conversion.
func castBounds(env *Env, e *cast) Interval {
	i := env.interval(e.x)
	from, to := e.x.Type(), e.typ
	switch {
	case i.empty || !i.Bounded() && from.OID == to.OID && !to.Array:
		return i
	case !i.Bounded() && !to.Number(): // the one end may be in another unit: days, and not microseconds
		return Interval{Null: i.Null}
	case to.Number() && from.Number():
		return castNumber(i, from, to)
	case from.Dated() && to.Dated():
		return momentCastBounds(env, i, e)
	case to.Family() == pgtype.BoolFamily && from.Family() != pgtype.BoolFamily:
		return Interval{Low: rat(0), High: rat(1), Null: i.Null}
	case from.Family() == pgtype.BoolFamily && to.Whole():
		i.Least = rat(1)
		return i
	case to.Family() == from.Family():
		return i
	}
	return Interval{Null: i.Null}
}

func castNumber(i Interval, from, to pgtype.Type) Interval {
	if !i.Bounded() && (!from.Whole() || !to.Whole() && !to.Decimal()) { // rounding moves an end
		i.Low, i.High = nil, nil
	}
	switch {
	case to.Whole():
		if !from.Whole() && i.Bounded() {
			i.Low, i.High = halfDown(i.Low), halfUp(i.High)
		}
		i.Least = rat(1)
	case to.Float():
		if !i.Bounded() {
			return i
		}
		return i.outward(to)
	case to.Decimal():
		if from.Float() {
			i = fromFloat(i, from)
		}
		if digits := to.Scale(); digits >= 0 {
			i = roundedTo(i, digits)
		}
	}
	return i
}

// fromFloat bounds the numeric that results from a float: 15 significant digits of a float8, and 6 of a float4.
func fromFloat(i Interval, from pgtype.Type) Interval {
	i.Least = power10(-keptDigits)
	if !i.Bounded() {
		return i
	}
	relative := power10(-14)
	if from.OID == pgtype.Float4 {
		relative = power10(-5)
	}
	i.Low = scaled(new(big.Rat).Sub(i.Low, new(big.Rat).Mul(new(big.Rat).Abs(i.Low), relative)), keptDigits, floor)
	i.High = scaled(new(big.Rat).Add(i.High, new(big.Rat).Mul(new(big.Rat).Abs(i.High), relative)), keptDigits, ceil)
	return i
}

func momentCastBounds(env *Env, i Interval, e *cast) Interval {
	from, to, day := e.x.Type(), e.typ, rat(pgtype.MicrosPerDay)
	if from.OID == pgtype.Date && to.OID != pgtype.Date {
		i.Low, i.High = new(big.Rat).Mul(i.Low, day), new(big.Rat).Mul(i.High, day)
	}
	if from.Zoned() != to.Zoned() {
		if local, ok := localOfCast(env, i, e); ok {
			i = local
			if to.OID == pgtype.Date {
				i.Low, i.High = floor(new(big.Rat).Quo(i.Low, day)), floor(new(big.Rat).Quo(i.High, day))
			}
			return i
		}
		offset := rat(env.offset(zoneConstant(e.zone, e.at)))
		i.Low, i.High = new(big.Rat).Sub(i.Low, offset), new(big.Rat).Add(i.High, offset)
	}
	if to.OID == pgtype.Date && from.OID != pgtype.Date {
		i.Low, i.High = floor(new(big.Rat).Quo(i.Low, day)), floor(new(big.Rat).Quo(i.High, day))
	}
	return i
}

// writeCast writes a conversion.
func writeCast(w *Writer, e *cast, m mode) (fragment, error) {
	from, to := e.x.Type(), e.typ
	switch {
	case from.Number() && to.Number():
		return writeNumberCast(w, e, m)
	case from.Dated() && to.Dated():
		return writeMomentCast(w, e)
	case from.Family() == pgtype.TextFamily && to.Family() == pgtype.TextFamily:
		return writeTextCast(w, e, m)
	}
	f, err := w.write(e.x, asIs)
	if err != nil {
		return fragment{}, err
	}
	switch {
	case to.Family() == pgtype.BoolFamily && from.Whole():
		return fragment{sql: "(" + f.sql + " OPERATOR(pg_catalog.<>) 0)", typ: to}, nil
	case to.Whole():
		return fragment{sql: castSQL(castSQL(f.sql, pgtype.Of(pgtype.Int4)), pgtype.Of(pgtype.Int8)), typ: pgtype.Of(pgtype.Int8)}, nil
	case to.OID == pgtype.Varchar && to.Length() >= 0:
		return fragment{
			sql: "pg_catalog.left(" + castSQL(f.sql, pgtype.Of(pgtype.Text)) + ", " + strconv.Itoa(to.Length()) + ")",
			typ: pgtype.Of(pgtype.Text),
		}, nil
	case to.Family() == pgtype.TextFamily:
		return fragment{sql: castSQL(f.sql, pgtype.Of(pgtype.Text)), typ: pgtype.Of(pgtype.Text)}, nil
	}
	return f, nil
}

// writeNumberCast writes a conversion between numbers. For conversions to integers and floats, bounds must prove that the value fits.
func writeNumberCast(w *Writer, e *cast, m mode) (fragment, error) {
	from, to := e.x.Type(), e.typ
	widens := from.Whole() && to.Family() != pgtype.IntFamily || from.Family() == to.Family() && to.OID != pgtype.Float4 && !to.Whole() &&
		to.Scale() < 0
	if m == asIs && widens && to.OID != pgtype.Float4 { // no value can make it fail
		f, err := w.write(e.x, asIs)
		if err != nil {
			return fragment{}, err
		}
		sql, err := w.convertTo(f, pgtype.Of(to.OID), e.at)
		return fragment{sql: Modify(to, sql), typ: to}, err
	}
	f, err := w.operand(e.x)
	if err != nil {
		return fragment{}, err
	}
	i := w.Env.interval(e.x)
	if !i.empty && (!widens || to.OID == pgtype.Float4 && i.Bounded()) {
		if err := provesCast(w, e, i); err != nil {
			return fragment{}, err
		}
	}
	t := w.Env.physical(e)
	switch {
	case to.OID == pgtype.Numeric && from.Float():
		sql := f.sql
		if from.OID == pgtype.Float4 {
			sql = castSQL(sql, from)
		}
		f = fragment{sql: "pg_catalog.trim_scale(pg_catalog.round(" + castSQL(sql, t) + ", " + strconv.Itoa(keptDigits) + "))", typ: t}
	case to.Whole() && !from.Whole():
		return fragment{sql: castSQL(f.sql, pgtype.Of(pgtype.Int8)), typ: pgtype.Of(pgtype.Int8)}, nil
	}
	sql, err := w.convertTo(f, t, e.at)
	if to.OID == pgtype.Float4 && from.OID != pgtype.Float4 {
		sql = castSQL(castSQL(sql, to), t)
	}
	return fragment{sql: Modify(to, sql), typ: t}, err
}

// provesCast refuses a cast that can fail for a value within the bounds.
func provesCast(w *Writer, e *cast, i Interval) error {
	if !i.Bounded() {
		return w.noBounds(e.x)
	}
	to := e.typ
	limit := largestFloat
	switch {
	case to.Whole():
		bits := pgtype.Bits(to.OID) - 1
		high := new(big.Rat).Sub(power2(bits), rat(1))
		if !castNumber(i, e.x.Type(), to).within(Interval{Low: new(big.Rat).Neg(power2(bits)), High: high}) {
			return mayFail(e)
		}
		return nil
	case to.OID == pgtype.Float4:
		limit = largest4
		if i.Least == nil || i.Least.Cmp(least4) < 0 {
			return mayFail(e)
		}
	case to.OID == pgtype.Float8 && e.x.Type().Decimal():
		if i.Least == nil || i.Least.Cmp(leastFloat) < 0 { // a smaller number would underflow
			return mayFail(e)
		}
	case to.OID == pgtype.Numeric && to.Scale() >= 0:
		limit = power10(to.Precision() - to.Scale())
		if roundedTo(i, to.Scale()).magnitude().Cmp(limit) >= 0 {
			return mayFail(e)
		}
		return nil
	case to.OID == pgtype.Numeric:
		limit = largestExact
	}
	if i.magnitude().Cmp(limit) > 0 {
		return mayFail(e)
	}
	return nil
}

func mayFail(e *cast) error {
	return pgerr.New(pgerr.NotAllowed, "the cast to %s can fail on protected data", e.typ).At(e.at).
		WithHint("Values within the declared bounds need not fit: narrow them, %s, or use a wider type.", ast.Clamp("x", "low", "high"))
}

// writeMomentCast writes a conversion between dates and times. A date or local time becomes an instant only when an instant is needed.
func writeMomentCast(w *Writer, e *cast) (fragment, error) {
	from, to := e.x.Type(), e.typ
	if i := w.Env.interval(e.x); !i.Bounded() && !i.empty {
		return fragment{}, w.noBounds(e.x)
	}
	f, err := w.operand(e.x)
	if err != nil {
		return fragment{}, err
	}
	zone := ""
	if e.zone >= 0 {
		if zone, err = w.sessionZone(e.zone, e.at); err != nil {
			return fragment{}, err
		}
	}
	if from.Zoned() && !to.Zoned() {
		f = fragment{sql: "pg_catalog.timezone(" + zone + ", " + f.sql + ")", typ: pgtype.Of(pgtype.Timestamp)}
	}
	switch {
	case to.OID == pgtype.Date && f.typ.OID != pgtype.Date:
		return fragment{sql: castSQL(f.sql, pgtype.Of(pgtype.Date)), typ: pgtype.Of(pgtype.Date)}, nil
	case to.OID != pgtype.Date && f.typ.OID == pgtype.Date:
		f = fragment{sql: castSQL(f.sql, pgtype.Of(pgtype.Timestamp)), typ: pgtype.Of(pgtype.Timestamp)}
	}
	if to.Zoned() && !from.Zoned() {
		f.zone = zone
	}
	return f, nil
}

// writeTextCast writes a conversion between texts.
func writeTextCast(w *Writer, e *cast, m mode) (fragment, error) {
	f, err := w.write(e.x, cutting(e.x, m))
	if err != nil {
		return fragment{}, err
	}
	to := e.typ
	switch {
	case to.OID == pgtype.Bpchar && to.Length() > pgtype.LongestPadded:
		return fragment{}, notAllowed("padding to more than "+strconv.Itoa(pgtype.LongestPadded)+" characters", e.at)
	case to.OID == pgtype.Bpchar && to.Length() >= 0:
		return fragment{sql: "CAST(" + f.sql + " AS pg_catalog.bpchar(" + strconv.Itoa(to.Length()) + "))", typ: to}, nil
	case to.OID == pgtype.Bpchar:
		return fragment{sql: castSQL(f.sql, to), typ: to}, nil
	}
	if f.typ.OID == pgtype.Bpchar {
		f = fragment{sql: castSQL(f.sql, pgtype.Of(pgtype.Text)), typ: pgtype.Of(pgtype.Text)}
	}
	if to.OID == pgtype.Varchar && to.Length() >= 0 {
		f = fragment{sql: "pg_catalog.left(" + f.sql + ", " + strconv.Itoa(to.Length()) + ")", typ: pgtype.Of(pgtype.Text)}
	}
	return f, nil
}
