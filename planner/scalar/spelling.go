package scalar

import (
	"strconv"

	"dpproxy/planner/pgtype"
)

// Values can be equal and look different: 6 and 6.00, or texts of character(n) with different trailing blanks. A proof that goes from equal
// to identical asks here. The answer holds for a column of a table by its type, since Postgres stores no other values. It holds for other
// expressions because the [Writer] writes them accordingly: [Writer.Target] for columns of derived tables, and [Writer.Grouped] for
// grouping expressions. A field of a date that is a whole number has no decimals, by the function that computes it.

// OneSpelling reports whether equal values of an expression are identical, if it is a column, or is written as a column or a key.
func OneSpelling(e Expr) bool {
	c, ok := e.(*call)
	return spelledAlike(e.Type(), ok && c.whole)
}

// OneSpelling reports whether equal values of a column are identical.
func (c *Column) OneSpelling() bool { return spelledAlike(c.Type, false) }

func spelledAlike(t pgtype.Type, whole bool) bool {
	if t.Array || !t.Deterministic {
		return false
	}
	switch t.Family() {
	case pgtype.BoolFamily, pgtype.IntFamily, pgtype.DateFamily, pgtype.InstantFamily, pgtype.TimeFamily, pgtype.UUIDFamily,
		pgtype.EnumFamily:
		return true
	case pgtype.NumericFamily, pgtype.TextFamily:
		return !respelled(t) || modified(t) || whole
	case pgtype.NoFamily, pgtype.FloatFamily, pgtype.IntervalFamily:
	}
	return false
}

// Identical reports whether two columns are identical whenever they are equal by the equality of their types.
func Identical(a, b *Column) bool {
	if !a.OneSpelling() || !b.OneSpelling() || a.Type.Collation != b.Type.Collation {
		return false
	}
	s, t := a.Type, b.Type
	if s.Whole() || s.Family() == pgtype.TextFamily && !respelled(s) {
		return s.Family() == t.Family() && !respelled(t)
	}
	return s.Same(t) && s.Mod == t.Mod
}

// respelled reports whether equal values of a numeric or text type have several spellings, unless a modifier fixes one.
func respelled(t pgtype.Type) bool { return t.Decimal() || t.OID == pgtype.Bpchar }

// modified reports whether a modifier fixes the spelling of the values of a type.
func modified(t pgtype.Type) bool { return respelled(t) && t.Mod >= 4 && !t.Array }

// Modify writes a value in the spelling that the modifier of its type fixes, if it has one. It changes no value of the type, and cannot
// raise.
func Modify(t pgtype.Type, sql string) string {
	switch {
	case !modified(t):
		return sql
	case t.Decimal():
		return "pg_catalog.round(" + sql + ", " + strconv.Itoa(t.Scale()) + ")"
	}
	return "CAST(" + sql + " AS pg_catalog.bpchar(" + strconv.Itoa(t.Length()) + "))"
}

// within returns the mode in which an expression is within its bounds, if it can have bounds.
func within(e Expr) mode {
	if t := e.Type(); t.Number() || t.Dated() || t.OID == pgtype.Interval {
		return clamped
	}
	return asIs
}

// spelled writes an expression such that equal values are identical if [OneSpelling] says so, as a key: numbers and times are within their
// bounds, expressions with declared bounds are unchanged, and texts are cut.
func (w *Writer) spelled(e Expr) (fragment, error) {
	if boundedOf(e) != nil {
		return w.spelledIn(asIs, e)
	}
	return w.spelledIn(within(e), e)
}

// spelledIn is spelled in a given mode, also for a column of a derived table. A cast is always written with its modifier, and columns have
// theirs.
func (w *Writer) spelledIn(m mode, e Expr) (fragment, error) {
	if f, ok := w.grouped(e, asIs); ok && (m == asIs || boundedOf(e) == nil) {
		return f, nil
	}
	f, err := w.write(e, cutting(e, m))
	if err != nil {
		return fragment{}, err
	}
	t := w.Env.physical(e)
	sql, err := w.convertTo(f, t, e.Pos())
	switch e.(type) { //nolint:gochecksumtype // only these have their modifier already
	case *Ref, *cast:
	default:
		if sql = Modify(e.Type(), sql); t.Decimal() && e.Type().Whole() {
			sql = "pg_catalog.trunc(" + sql + ")"
		}
	}
	return fragment{sql: sql, typ: t}, err
}

// A grouping is a grouping expression with its SQL.
type grouping struct {
	key Expr
	fragment
}

// Grouped returns the SQL of the grouping expressions, and a writer of expressions over the groups, which writes a grouping expression as
// that SQL wherever it occurs.
func (w *Writer) Grouped(keys []Expr) (*Writer, []string, error) {
	inner := &Writer{Env: w.Env, Fold: w.Fold, Query: w.Query, Own: w.Own, Renamed: w.Renamed}
	var list []string
	for _, k := range keys {
		if len(k.Columns()) == 0 {
			continue
		}
		if c, plain := PlainColumn(k); plain {
			list = append(list, c.Read())
			if c.Reach == Beginning || c.Reach == Piece {
				inner.groupings = append(inner.groupings, grouping{k, fragment{sql: c.Read(), typ: c.Type}})
			}
			continue
		}
		f, err := w.spelled(k)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, f.sql)
		inner.groupings = append(inner.groupings, grouping{k, f})
	}
	return inner, list, nil
}

// grouped returns the SQL of an expression by which rows are grouped.
func (w *Writer) grouped(e Expr, m mode) (fragment, bool) {
	for _, g := range w.groupings {
		if !Equal(g.key, e) {
			continue
		}
		if _, plain := e.(*Ref); !plain && m == clamped && e.Type().Family() == pgtype.TextFamily {
			return cut(g.fragment), true
		}
		return g.fragment, true
	}
	return fragment{}, false
}

// Physical returns the type of a column as it is read. A computed column of a derived table may have a wider type than its own.
func (w *Writer) Physical(c *Column) pgtype.Type {
	if c.derived() {
		return w.Env.physical(&Ref{Column: c})
	}
	return c.Type
}
