package scalar

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/planner/pgtype"
)

// sumBits is the resolution of sums of floats: their bounds span about 2^sumBits steps. Sums of such integers do not depend on the order of
// the rows.
const sumBits = 30

// aggregateBounds bounds an aggregate over at most e.rows rows.
func aggregateBounds(env *Env, e *aggregate) Interval {
	rows := rat(e.rows)
	if e.numbers() {
		return Interval{Low: rat(1), Least: rat(1)}
	}
	if e.shares() {
		return Interval{Low: new(big.Rat), High: rat(1)}
	}
	if e.name == "ntile" {
		return Interval{Low: rat(1), High: rat(int64(e.over.offset)), Least: rat(1)}
	}
	if e.name == "count" {
		in := Interval{Low: new(big.Rat), High: mostCount(env, e), Least: rat(1)}
		if e.present(env) {
			in.Low = rat(1)
		}
		return in
	}
	i := env.interval(e.x)
	i.Null = !e.present(env)
	if i.empty || !i.Bounded() {
		return i
	}
	switch e.name {
	case "sum":
		if e.x.Type().Float() {
			i = latticeOf(i).widened(i)
		}
		i.Low = smaller(i.Low, new(big.Rat).Mul(i.Low, rows))
		i.High = larger(i.High, new(big.Rat).Mul(i.High, rows))
	case "avg":
		if e.x.Type().Float() {
			l := latticeOf(i)
			i = l.widened(i)
			i.Least = power2(int(l) - 64) // for fewer than 2^64 rows
			return i
		}
		if i.Least != nil {
			n := Interval{Low: rat(1), High: power2(63), Least: rat(1)}
			i.Least = roundedQuotient(i, i, n).Least
		}
		i = roundedMean(i)
	}
	return i
}

// present reports whether a value is aggregated in every group, since a group has at least one row. It is used for lists of values only.
func (e *aggregate) present(env *Env) bool {
	return env.listing && e.over == nil && e.filter == nil && (e.x == nil || !env.interval(e.x).Null)
}

// roundedMean allows for the rounding of a numeric mean.
func roundedMean(i Interval) Interval {
	digits := 40
	if i.Least != nil {
		digits = max(digits, decimals(i.Least))
	}
	e := new(big.Rat).Mul(i.magnitude(), power10(-12))
	i.Low, i.High = scaled(new(big.Rat).Sub(i.Low, e), digits, floor), scaled(new(big.Rat).Add(i.High, e), digits, ceil)
	return i
}

// A lattice is the grid on which floats are summed, by the binary exponent of its step.
type lattice int

func latticeOf(i Interval) lattice {
	m := i.magnitude()
	if m.Sign() == 0 {
		return 0
	}
	return lattice(m.Num().BitLen() - m.Denom().BitLen() + 1 - sumBits)
}

// widened rounds the ends outward to the grid.
func (l lattice) widened(i Interval) Interval {
	step := power2(int(l))
	i.Low = new(big.Rat).Mul(floor(new(big.Rat).Quo(i.Low, step)), step)
	i.High = new(big.Rat).Mul(ceil(new(big.Rat).Quo(i.High, step)), step)
	i.Least = step
	return i
}

// aggregate writes an aggregate that does not depend on the order of the rows, and is within its bounds for any number of rows.
func (w *Writer) aggregate(e *aggregate) (fragment, error) {
	filter := ""
	if e.filter != nil {
		f, err := w.Condition(e.filter)
		if err != nil {
			return fragment{}, err
		}
		filter = " FILTER (WHERE " + f + ")"
	}
	over, err := w.over(e.over, filter)
	if err != nil {
		return fragment{}, err
	}
	switch e.name {
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
		return fragment{sql: over("pg_catalog." + e.name + "()"), typ: e.typ}, nil
	case "ntile":
		return fragment{sql: over("pg_catalog.ntile(" + strconv.Itoa(e.over.offset) + ")"), typ: e.typ}, nil
	case "count":
		return w.count(e, over)
	case "sum", "avg":
		return w.sum(e, over)
	case "min", "max", "lag", "lead", "first_value", "last_value", "nth_value":
		return w.extreme(e, over)
	}
	x, err := w.Expr(e.x)
	return fragment{sql: over("pg_catalog." + e.name + "(" + x + ")"), typ: e.typ}, err
}

func (w *Writer) count(e *aggregate, over clauses) (fragment, error) {
	x := "*"
	if e.x != nil {
		sql, err := w.Expr(e.x)
		if err != nil {
			return fragment{}, err
		}
		if ref, ok := e.x.(*Ref); ok && !e.distinct {
			sql = ref.Column.Presence()
		}
		x = sql
	}
	if e.distinct {
		x = "DISTINCT " + x
	}
	return fragment{
		sql: "LEAST(" + over("pg_catalog.count("+x+")") + ", " + intLiteral(mostCount(w.Env, e)) + ")",
		typ: pgtype.Of(pgtype.Int8),
	}, nil
}

func (w *Writer) sum(e *aggregate, over clauses) (fragment, error) {
	i := w.Env.interval(e)
	if !i.Bounded() && !i.empty {
		return fragment{}, w.noBounds(e.x)
	}
	f, err := w.operand(e.x)
	if err != nil {
		return fragment{}, err
	}
	t := w.Env.physical(e)
	var sql string
	switch {
	case e.x.Type().Float():
		sql = w.floatSum(e, f.sql, over)
	default:
		sql = e.total(f.sql, over)
		if t.OID != pgtype.Numeric {
			low, high, _ := literals(i, pgtype.Of(pgtype.Numeric))
			return fragment{
				sql: "CAST(CASE WHEN " + e.some(sql, f.sql, over) + " THEN " + clampSQL(sql, low, high) + " END AS pg_catalog.int8)",
				typ: t,
			}, nil
		}
	}
	low, high, ok := literals(i, t)
	if !ok { // NULL
		return fragment{sql: castSQL("NULL", t), typ: t}, nil
	}
	return fragment{sql: "CASE WHEN " + e.some(sql, f.sql, over) + " THEN " + clampSQL(sql, low, high) + " END", typ: t}, nil
}

// floatSum adds whole steps and scales the sum by a power of two, which is exact.
func (w *Writer) floatSum(e *aggregate, x string, over clauses) string {
	l := latticeOf(w.Env.Bounds(e.x))
	steps := "CAST(" + x + " OPERATOR(pg_catalog.*) " + pgtype.FloatLiteral(power2(-int(l))) + " AS pg_catalog.int8)"
	sum := "CAST(" + e.total(steps, over) + " AS pg_catalog.float8)"
	return "(" + sum + " OPERATOR(pg_catalog.*) " + pgtype.FloatLiteral(power2(int(l))) + ")"
}

// extreme writes min and max, and functions that return the value of another row. Which of several equal values they return depends on the
// order of the rows, so numerics are written in one spelling.
func (w *Writer) extreme(e *aggregate, over clauses) (fragment, error) {
	t := e.x.Type()
	i := w.Env.interval(e.x)
	if t.Float() && !i.Bounded() && !i.empty {
		return fragment{}, w.noBounds(e.x)
	}
	m := cutting(e.x, asIs)
	if i.Bounded() {
		m = clamped
	}
	f, err := w.write(e.x, m)
	if err != nil {
		return fragment{}, err
	}
	f = w.instant(f)
	physical := w.Env.physical(e)
	sql, err := w.convertTo(f, physical, e.at)
	if err != nil {
		return fragment{}, err
	}
	if e.name == "lag" || e.name == "lead" || e.name == "nth_value" {
		sql += ", " + strconv.Itoa(e.over.offset)
	}
	sql = over("pg_catalog." + e.name + "(" + sql + ")")
	switch {
	case modified(t):
		sql = Modify(t, sql)
	case physical.OID == pgtype.Numeric:
		sql = "pg_catalog.trim_scale(" + sql + ")"
	}
	return fragment{sql: sql, typ: physical}, nil
}

// clauses adds FILTER and OVER to a call.
type clauses func(call string) string

// over writes OVER (...). Every partition contains rows of one unit only, since the unit is added to its keys.
func (w *Writer) over(o *window, filter string) (clauses, error) {
	if o == nil {
		return func(call string) string { return call + filter }, nil
	}
	partition := w.Own.OwnPartition()
	for _, x := range o.partition {
		sql, err := w.Sorted(x)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(partition, sql) {
			partition = append(partition, sql)
		}
	}
	sql := filter + " OVER (PARTITION BY " + strings.Join(partition, ", ")
	if o.frame != nil && len(o.ends) > 0 {
		return o.near(w, sql)
	}
	order, err := w.sorts(o.order)
	if err != nil {
		return nil, err
	}
	if o.ties {
		order = append(order, w.Own.OwnTies(w)...)
	}
	if len(order) > 0 {
		sql += " ORDER BY " + strings.Join(order, ", ")
	}
	if o.frame != nil {
		sql += " ROWS BETWEEN " + edgeSQL(o.frame.From) + " AND " + edgeSQL(o.frame.To)
	}
	return func(call string) string { return call + sql + ")" }, nil
}

// Order writes ORDER BY.
func (w *Writer) Order(o *Order) ([]string, error) { return w.sorts(o.list) }

// sorts writes ORDER BY.
func (w *Writer) sorts(list []sort) (out []string, err error) {
	for _, s := range list {
		x, err := w.Sorted(s.x)
		if err != nil {
			return nil, err
		}
		out = append(out, s.sql(x))
	}
	return out, nil
}

// sql writes an item of ORDER BY.
func (s sort) sql(x string) string {
	if s.descending {
		x += " DESC"
	}
	if s.nullsFirst != s.descending {
		x += map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[s.nullsFirst]
	}
	return x
}

// Sorted writes an expression of ORDER BY or PARTITION BY.
func (w *Writer) Sorted(e Expr) (string, error) {
	if c, plain := PlainColumn(e); plain {
		return c.Read(), nil
	}
	f, err := w.spelled(e)
	return f.sql, err
}
