package scalar

import (
	"math/big"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// A Writer writes expressions as SQL that is total: for every row it has a value or is NULL. The SQL is for a session with search_path =
// pg_catalog, TimeZone = UTC, DateStyle = ISO and IntervalStyle = postgres. Errors are *pgerr.Error, with positions in the statement.
type Writer struct {
	Env *Env
	// Fold returns the placeholder of the value of a fold, e.g. $3.
	Fold func(i int) string
	// Query writes the sub-select of a condition; it may be nil if there is none.
	Query func(w *Writer, q *Query) (string, error)
	// Renamed are columns that have other names where the expression is written.
	Renamed map[*Column]*Column
	// Own distinguishes the rows of window functions; it may be nil if there are none.
	Own Own
	// Normal, if not nil, writes conditions in place of the writer: see [NormalForms].
	Normal Forms

	groupings []grouping
	// brought, if not nil, is called for each column of a table, and each expression with declared bounds, whose values are moved into
	// declared bounds.
	brought func(*Column, *Bounded)
}

// An Own writes what distinguishes the rows of a level.
type Own interface {
	// OwnPartition are expressions by which rows of one unit alone are in each partition.
	OwnPartition() []string
	// OwnTies orders rows that agree in the expressions of ORDER BY. Rows that still tie are identical for the level.
	OwnTies(w *Writer) []string
}

// Forms writes conditions.
type Forms interface {
	// All writes conditions that must all be true.
	All(w *Writer, list []Expr) ([]string, error)
	// Whole writes a condition of which it matters whether it is false or NULL.
	Whole(w *Writer, e Expr) (string, error)
}

// isTest reports whether an expression is a condition, and neither a column nor a constant.
func isTest(e Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others are values
	case *logic:
		return true
	case *call:
		return e.typ.OID == pgtype.Bool
	}
	return false
}

// fragment is SQL with its type, which may differ from the type of the expression: whole numbers are computed as int8, or as numeric if
// they may not fit, and float4 as float8.
type fragment struct {
	sql string
	typ pgtype.Type
	// zone, if not "", is SQL of the name of a time zone: a timestamp with time zone is written as the local time in that zone.
	zone string
}

// mode is the way in which columns in an expression are written.
type mode uint8

const (
	// asIs leaves plain columns unchanged: for comparisons, counts and groups.
	asIs mode = iota
	// clamped moves values into their interval, and texts into a length, so that operators cannot raise.
	clamped
)

// Expr writes an expression with plain columns unclamped. It may be compared, counted and grouped.
func (w *Writer) Expr(e Expr) (string, error) {
	f, err := w.write(e, asIs)
	return f.sql, err
}

// All writes conditions that must all be true. It does not matter whether one that is not true is false or NULL.
func (w *Writer) All(list []Expr) ([]string, error) {
	if w.Normal != nil {
		return w.Normal.All(w, list)
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		sql, err := w.Expr(e)
		if err != nil {
			return nil, err
		}
		out = append(out, sql)
	}
	return out, nil
}

// Condition is All for one condition.
func (w *Writer) Condition(e Expr) (string, error) {
	list, err := w.All([]Expr{e})
	return strings.Join(list, " AND "), err
}

// Value is Expr, and also returns the type of the SQL, which may differ from the type of the expression: whole numbers are computed as
// int8, or as numeric if they may not fit, and float4 as float8. A timestamp with time zone that depends on no time of day (date_trunc of a
// date) is written as the local time in the session's zone.
func (w *Writer) Value(e Expr) (string, pgtype.Type, error) {
	f, err := w.write(e, asIs)
	return f.sql, f.typ, err
}

// Clamped writes a number, date or time that lies within an interval, or is NULL. The type of the SQL is as for Value, but a timestamp with
// time zone is an instant. The interval is [Env.Bounds] or [Env.Narrowed] of e; without bounds e is refused.
func (w *Writer) Clamped(e Expr, within Interval) (string, pgtype.Type, error) {
	if !within.Bounded() {
		return "", pgtype.Type{}, w.noBounds(e)
	}
	if ref, ok := e.(*Ref); ok && !ref.Column.derived() && (e.Type().Number() || e.Type().Dated()) {
		f, err := w.bring(ref, fragment{sql: w.Called(ref.Column).SQL, typ: e.Type()}, within)
		return f.sql, f.typ, err
	}
	f, err := w.operand(e)
	if err != nil {
		return "", pgtype.Type{}, err
	}
	if i := w.Env.interval(e); i.within(within) {
		return f.sql, f.typ, nil
	}
	low, high, ok := literals(within, f.typ)
	if !ok {
		return "", pgtype.Type{}, w.noBounds(e)
	}
	return "CASE WHEN " + f.sql + " IS NOT NULL THEN " + clampSQL(f.sql, low, high) + " END", f.typ, nil
}

// Target writes the expression that defines column c of a derived table in a branch of its query, in the type that references to the column
// expect, with numbers and times within their bounds.
func (w *Writer) Target(c *Column, branch int) (string, error) {
	e := c.Of[branch]
	if !c.derived() {
		return w.Expr(e)
	}
	if from, to := e.Type().Family(), c.Type.Family(); from != to && (from != pgtype.IntFamily || !c.Type.Number()) {
		return "", pgerr.New(pgerr.Internal, "a column of type %s stands for a value of type %s", c.Type, e.Type()).At(e.Pos())
	}
	m := within(e)
	if boundedOf(&Ref{Column: c}) != nil { // every reader of the column moves it into its bounds
		m = asIs
	}
	f, err := w.spelledIn(m, e)
	if err != nil {
		return "", err
	}
	if f.typ.Family() == pgtype.TextFamily && w.Env.textLength(e, characters) > cutLength {
		f = cut(f)
	}
	return w.convertTo(f, w.Env.physical(&Ref{Column: c}), e.Pos())
}

// longest bounds the SQL of an expression: CASE and clamping repeat their operand.
const longest = 1 << 20

func (w *Writer) write(e Expr, m mode) (fragment, error) {
	if err := w.Env.Work.Spend(perExpression); err != nil {
		return fragment{}, err
	}
	f, err := w.dispatch(e, m)
	if err == nil && len(f.sql) > longest {
		return fragment{}, pgerr.New(pgerr.StatementTooComplex, "the expression is too large").At(e.Pos()).WithHint("Use a simpler one.")
	}
	return f, err
}

func (w *Writer) dispatch(e Expr, m mode) (fragment, error) {
	if b, ok := e.(*bounded); ok {
		return writeBounded(w, b, m)
	}
	if f, ok := w.grouped(e, m); ok {
		return f, nil
	}
	if w.Normal != nil && isTest(e) {
		sql, err := w.Normal.Whole(w, e)
		return fragment{sql: sql, typ: e.Type()}, err
	}
	switch e := e.(type) {
	case *Ref:
		return w.column(e, m)
	case *Query:
		sql, err := w.Query(w, e)
		return fragment{sql: sql, typ: pgtype.Of(pgtype.Bool)}, err
	case *constant:
		return w.constant(e, m)
	case *call:
		return e.fn.over.write(w, e)
	case *cast:
		return writeCast(w, e, m)
	case *choice:
		return w.choice(e, m)
	case *logic:
		return w.logic(e)
	case *aggregate:
		return w.aggregate(e)
	case *term, *bounded:
	}
	return fragment{}, pgerr.New(pgerr.Internal, "an expression that cannot be written").At(e.Pos())
}

// operand writes a bounded value; a local time that stands for an instant becomes that instant.
func (w *Writer) operand(e Expr) (fragment, error) {
	f, err := w.write(e, clamped)
	if err != nil {
		return fragment{}, err
	}
	return w.instant(f), nil
}

// instant converts a local time to the instant for which it stands.
func (w *Writer) instant(f fragment) fragment {
	if f.zone == "" {
		return f
	}
	return fragment{sql: "pg_catalog.timezone(" + f.zone + ", " + f.sql + ")", typ: pgtype.Of(pgtype.Timestamptz)}
}

// convertTo converts SQL to a type such that it cannot raise.
func (w *Writer) convertTo(f fragment, t pgtype.Type, at int) (string, error) {
	f = w.instant(f)
	from, to := f.typ.Family(), t.Family()
	switch {
	case f.typ.Same(t), from == pgtype.TextFamily && t.OID == pgtype.Text && f.typ.OID == pgtype.Varchar,
		from == pgtype.TextFamily && t.OID == pgtype.Varchar && f.typ.OID == pgtype.Text:
		return f.sql, nil
	case from == pgtype.IntFamily && to == pgtype.IntFamily && t.OID == pgtype.Int8,
		from == pgtype.IntFamily && (to == pgtype.NumericFamily || t.OID == pgtype.Float8),
		from == pgtype.NumericFamily && (t.OID == pgtype.Float8 || t.OID == pgtype.Int8), // the caller has proved that it fits
		from == pgtype.FloatFamily && t.OID == pgtype.Float8,
		from == pgtype.TextFamily && to == pgtype.TextFamily,
		f.typ.OID == pgtype.Date && t.OID == pgtype.Timestamp:
		return castSQL(f.sql, t), nil
	}
	return "", pgerr.New(pgerr.Internal, "%s cannot be written as %s", f.typ, t).At(at)
}

// Columns and constants.

func (w *Writer) column(e *Ref, m mode) (fragment, error) {
	c := w.Called(e.Column)
	f := fragment{sql: c.Read(), typ: c.Type}
	if c.derived() {
		f.typ = w.Env.physical(e)
	}
	if m == asIs {
		return f, nil
	}
	switch {
	case cuttable(c.Type) && c.Reach == Whole && !c.derived():
		return fragment{sql: Beginning.Read(c.SQL), typ: pgtype.Of(pgtype.Text)}, nil
	case boundedOf(&Ref{Column: c}) != nil:
		return brought(w, f, e)
	case c.derived() || !c.Type.Number() && !c.Type.Dated():
		return f, nil
	}
	return w.bring(e, f, w.Env.declared(c.Base()))
}

// Called returns the column under the name that it has where the expression is written.
func (w *Writer) Called(c *Column) *Column {
	for w.Renamed[c] != nil {
		c = w.Renamed[c]
	}
	return c
}

// bring moves a column of a table into bounds, if it has any. NaN is greater than all numbers, as in LEAST and GREATEST of Postgres, and
// becomes the upper bound.
func (w *Writer) bring(e *Ref, f fragment, i Interval) (fragment, error) {
	c := e.Column.Base()
	if w.brought != nil && c.Bounds != nil {
		w.brought(c, nil)
	}
	switch {
	case c.Type.Whole():
		f.typ = pgtype.Of(pgtype.Int8)
	case c.Type.Float():
		f.typ = pgtype.Of(pgtype.Float8)
	}
	sql, err := w.convertTo(fragment{sql: f.sql, typ: c.Type}, f.typ, e.At)
	if err != nil {
		return fragment{}, err
	}
	if f.typ.OID == pgtype.Numeric && c.Type.Scale() < 0 {
		digits := strconv.Itoa(keptDigits)
		sql = "CASE WHEN pg_catalog.scale(" + sql + ") OPERATOR(pg_catalog.>) " + digits +
			" THEN pg_catalog.trunc(" + sql + ", " + digits + ") ELSE " + sql + " END"
	}
	x := sql
	if low, high, ok := literals(i, f.typ); ok {
		x = clampSQL(sql, low, high)
	}
	switch {
	case f.typ.OID == pgtype.Float8 && (!i.Bounded() || i.holdsZero()):
		// Tiny values count as zero, unless zero is outside the bounds.
		t := tiny(c.Type)
		x = "CASE WHEN " + sql + " OPERATOR(pg_catalog.>) " + pgtype.FloatLiteral(new(big.Rat).Neg(t)) +
			" AND " + sql + " OPERATOR(pg_catalog.<) " + pgtype.FloatLiteral(t) +
			" THEN " + pgtype.FloatLiteral(new(big.Rat)) + " WHEN " + sql + " IS NOT NULL THEN " + x + " END"
	case i.Bounded() && !e.Column.NotNull:
		x = "CASE WHEN " + f.sql + " IS NOT NULL THEN " + x + " END"
	}
	f.sql = x
	return f, nil
}

func clampSQL(sql, low, high string) string {
	return "LEAST(GREATEST(" + sql + ", " + low + "), " + high + ")"
}

// literals writes the ends of an interval in a type.
func literals(i Interval, t pgtype.Type) (low, high string, ok bool) {
	if !i.Bounded() {
		return "", "", false
	}
	switch t.OID {
	case pgtype.Int8:
		return intLiteral(larger(floor(i.Low), lowestInt8)), intLiteral(smaller(ceil(i.High), highestInt8)), true
	case pgtype.Numeric:
		digits := max(keptDigits, t.Scale())
		return numericLiteral(scaled(i.Low, digits, floor), t.Scale()), numericLiteral(scaled(i.High, digits, ceil), t.Scale()), true
	case pgtype.Float8:
		return pgtype.FloatLiteral(ratOf(floatBelow(i.Low))), pgtype.FloatLiteral(ratOf(floatAbove(i.High))), true
	case pgtype.Interval:
		return pgtype.SpanLiteral(floor(i.Low).Num().Int64()), pgtype.SpanLiteral(ceil(i.High).Num().Int64()), true
	case pgtype.Date, pgtype.Timestamp, pgtype.Timestamptz:
		return t.DateLiteral(floor(i.Low).Num().Int64()), t.DateLiteral(ceil(i.High).Num().Int64()), i.within(years(t))
	}
	return "", "", false
}

func intLiteral(r *big.Rat) string { return "CAST('" + r.Num().String() + "' AS pg_catalog.int8)" }

// numericLiteral writes a number with its decimals, but at least scale of them: then a choice between it and a value of that scale has one
// spelling.
func numericLiteral(r *big.Rat, scale int) string {
	text, decimals, _ := strings.Cut(r.FloatString(max(keptDigits, scale)), ".")
	if kept := max(len(strings.TrimRight(decimals, "0")), scale); kept > 0 {
		text += "." + decimals[:kept]
	}
	return "CAST('" + text + "' AS pg_catalog.numeric)"
}

func (w *Writer) constant(e *constant, m mode) (fragment, error) {
	p := w.Fold(e.fold)
	if e.typ.Enum.Name != "" { // OIDs of enums differ between databases, so enums travel as text
		text := pgtype.Of(pgtype.Text)
		text.Array = e.typ.Array
		return fragment{sql: castSQL(castSQL(p, text), e.typ), typ: e.typ}, nil
	}
	if e.fold < len(w.Env.Values) {
		if err := w.Env.Values[e.fold].tooLong(e); err != nil {
			return fragment{}, err
		}
		if w.Env.Before14 && w.Env.Values[e.fold].infinite(e.typ) {
			return fragment{}, pgerr.New(pgerr.NotAllowed,
				"an infinite numeric is not allowed on protected data: the protected database has none, as Postgres before 14").
				At(e.at).WithHint("Use a finite value, or a double.")
		}
	}
	f := fragment{sql: castSQL(p, e.typ), typ: e.typ}
	if m == clamped && (e.typ.Number() || e.typ.Dated()) {
		d, err := w.Env.datum(e)
		if err != nil {
			return fragment{}, err
		}
		if !d.null && d.number == nil {
			return fragment{}, pgerr.New(pgerr.NotAllowed, "a constant that is not finite can only be compared on protected data").At(e.at).
				WithHint("Use a finite value.")
		}
		if e.typ.Dated() && !d.null && remote(d.number, e.typ) {
			const refusal = "a date outside of the years 1 to 9999 can only be compared on protected data"
			return fragment{}, pgerr.New(pgerr.NotAllowed, refusal).At(e.at).
				WithHint("Use a date in these years.")
		}
		if e.typ.OID == pgtype.Float4 {
			return fragment{sql: castSQL(f.sql, pgtype.Of(pgtype.Float8)), typ: pgtype.Of(pgtype.Float8)}, nil
		}
	}
	return f, nil
}

// noBounds refuses arithmetic with a value without bounds.
func (w *Writer) noBounds(e Expr) error {
	if c := w.unbounded(e); c != nil {
		return pgerr.New(pgerr.NoBounds, "column %q has no bounds: it can only be compared", c.Column.Shown()).At(c.At).
			WithHint("The administrator can declare bounds for it in the policy; %s with constants bounds it as well.",
				ast.Clamp("x", "low", "high"))
	}
	return pgerr.New(pgerr.NoBounds, "this value has no bounds: it can only be compared").At(e.Pos()).
		WithHint("Bound it: %s.", ast.Clamp("x", "low", "high"))
}

// unbounded finds a column that leaves e without bounds.
func (w *Writer) unbounded(e Expr) *Ref {
	if w.Env.Bounds(e).Bounded() {
		return nil
	}
	if ref, ok := e.(*Ref); ok {
		return ref
	}
	for _, o := range operands(e) {
		if c := w.unbounded(o); c != nil && (o.Type().Number() || o.Type().Dated()) {
			return c
		}
	}
	return nil
}

// Key writes an expression by which rows are grouped. date_trunc of an instant to days or longer is written as a local time, which stands
// for the instant in the session's time zone.
func (w *Writer) Key(e Expr) (string, pgtype.Type, error) {
	if b, ok := e.(*bounded); ok {
		e = b.x
	}
	c, ok := e.(*call)
	if !ok || c.fn.over.key == nil || c.typ.OID != pgtype.Timestamptz {
		return w.Value(e)
	}
	f, err := c.fn.over.key(w, c)
	return f.sql, f.typ, err
}
