package scalar

import (
	"math/big"
	"strconv"
	"strings"

	"dpproxy/planner/pgtype"
)

// The rules of tests. Compared values are written unclamped: the types in which they are computed are comparable within each family. An
// instant is compared as an instant.

var (
	// comparison is = <> < <= > >=.
	comparison = &rule{
		reads: readsCompared, bounds: maybeNull, narrow: narrowedByComparison,
		cost: func(c *costing, e *call) int64 {
			if forEquality(e) {
				return c.equality(e.args...)
			}
			return c.order(e.args...)
		},
		write: comparing(forEquality, forOrder),
	}
	// distinctness is IS [NOT] DISTINCT FROM.
	distinctness = &rule{
		reads: readsCompared, bounds: neverNull,
		cost:  func(c *costing, e *call) int64 { return c.equality(e.args...) },
		write: comparing(always, never),
	}
	// inList is [NOT] IN.
	inList = &rule{
		reads: readsCompared, bounds: maybeNull, narrow: narrowedByList,
		cost: func(c *costing, e *call) (n int64) {
			for _, x := range e.args[1:] {
				n = added(n, c.equality(e.args[0], x))
			}
			return n
		},
		write: comparing(func(c *call) bool { return len(c.args)-1 < hashedList }, never),
	}
	// inRange is [NOT] BETWEEN [SYMMETRIC].
	inRange = &rule{
		reads: readsCompared, bounds: maybeNull, narrow: narrowedByRange,
		cost: func(c *costing, e *call) int64 {
			return added(c.order(e.args[0], e.args[1]), c.order(e.args[0], e.args[2]))
		},
		excludesNull: func(c *call, x Expr) bool {
			return c.fn.name == wordBetween && (strict(c.args[1], x) || strict(c.args[2], x))
		},
		write: comparing(never, always),
	}
	// ofArray compares with the elements of an array: ANY and ALL.
	ofArray = &rule{
		reads: readsCompared, bounds: maybeNull, narrow: narrowedByArray,
		cost: func(c *costing, e *call) int64 {
			array, constant := e.args[1].(*constant)
			switch {
			case !constant:
				return elementsCost(c, e)
			case forOrder(e):
				return product(c.order(e.args[0]), c.env.elements(array))
			}
			return 0
		},
		write: comparing(never, forOrder),
	}
	// nullTest is IS [NOT] NULL.
	nullTest = &rule{
		reads: readsPresence, bounds: neverNull, write: writeNullTest,
		cost: func(_ *costing, e *call) int64 {
			if e.args[0].Type().Family() == pgtype.NoFamily {
				return fieldsCost
			}
			return 0
		},
		excludesNull: func(c *call, x Expr) bool { return c.fn.name == isNotNull && strict(c.args[0], x) },
	}
	// truthTest is IS [NOT] TRUE, FALSE or UNKNOWN.
	truthTest = &rule{
		bounds:       neverNull,
		cost:         func(*costing, *call) int64 { return 0 },
		excludesNull: func(c *call, x Expr) bool { return c.fn.name == "IS TRUE" && excludesNull(c.args[0], x) },
		write: func(w *Writer, c *call) (fragment, error) {
			f, err := w.write(c.args[0], asIs)
			return fragment{sql: c.fn.sql(f.sql), typ: c.typ}, err
		},
	}
)

const (
	wordBetween = "BETWEEN"
	wordIn      = "IN"
	isNotNull   = "IS NOT NULL"
	// hashedList is the length of a list from which on Postgres hashes the compared value.
	hashedList = 9
)

func testForNull(not bool) *function {
	return &function{name: "IS " + negated(not, "NULL"), syntax: postfixSQL, over: nullTest}
}

func neverNull(*Env, *call) Interval { return span(0, 1) }
func maybeNull(*Env, *call) Interval { return truthValue() }

func always(*call) bool { return true }
func never(*call) bool  { return false }

// comparator returns the operator of a comparison, also of a comparison with the elements of an array.
func (f *function) comparator() string {
	op, _, _ := strings.Cut(f.name, " ")
	return op
}

func forEquality(c *call) bool { return c.fn.comparator() == "=" || c.fn.comparator() == "<>" }
func forOrder(c *call) bool    { return !forEquality(c) }

// comparing writes a test that compares its arguments. equality says that it compares one by one and only for equality: then an index can
// find them, and texts of other lengths are not read. order says that it compares for order: then Postgres would compare long values during
// planning too.
func comparing(equality, order func(*call) bool) func(*Writer, *call) (fragment, error) {
	return func(w *Writer, c *call) (fragment, error) {
		parts := make([]string, len(c.args))
		for i, o := range c.args {
			f, err := w.comparand(o, c.args, equality(c))
			if err != nil {
				return fragment{}, err
			}
			if order(c) {
				f = unestimated(o, f)
			}
			parts[i] = w.instant(f).sql
		}
		return fragment{sql: c.fn.sql(parts...), typ: c.typ}, nil
	}
}

// storedFields bounds the stored bytes of a composite value whose fields are read. A value with only NULL fields has fewer.
const storedFields = 2048

// nullSQL writes IS [NOT] NULL. For a composite value Postgres reads the fields, and so the whole value. A value larger than storedFields
// is not read: it counts as having no NULL field.
func nullSQL(t pgtype.Type, x string, not bool) string {
	test := postfixSQL("IS "+negated(not, "NULL"), []string{x})
	if t.Family() != pgtype.NoFamily || t.Array {
		return test
	}
	return "CASE WHEN pg_catalog.pg_column_size(" + x + ") OPERATOR(pg_catalog.>) " + strconv.Itoa(storedFields) +
		" THEN " + strings.ToUpper(strconv.FormatBool(not)) + " ELSE " + test + " END"
}

func writeNullTest(w *Writer, c *call) (fragment, error) {
	x, not := c.args[0], c.fn.name == isNotNull
	_, key := w.grouped(x, asIs)
	if ref, plain := x.(*Ref); plain && !key {
		return fragment{sql: nullSQL(x.Type(), w.Called(ref.Column).Presence(), not), typ: c.typ}, nil
	}
	f, err := w.write(x, asIs)
	return fragment{sql: nullSQL(x.Type(), w.instant(f).sql, not), typ: c.typ}, err
}

// The following functions derive bounds of columns from conditions that are true.

func narrowedByComparison(n *narrowing, c *call) { n.compare(c.args[0], c.fn.name, c.args[1]) }

// compare notes what a comparison implies.
func (n *narrowing) compare(x Expr, op string, to Expr) {
	if isConstant(x) {
		x, to, op = to, x, mirrored[op]
	}
	if !isConstant(to) {
		n.compareTwo(x, op, to)
		return
	}
	i, some := oneSided(inUnits(n.constants.interval(to), to.Type(), x.Type()), op)
	if some {
		n.limit(x, i.strictly(op, x.Type()))
	}
}

// oneSided returns the values that a comparison with some value of an interval allows; some is false if it is one for inequality.
func oneSided(i Interval, op string) (of Interval, some bool) {
	switch op {
	case "<", "<=":
		i.Low = nil
	case ">", ">=":
		i.High = nil
	case "<>":
		return i, false
	}
	return i, true
}

// mirrored swaps the sides of a comparison.
var mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func narrowedByRange(n *narrowing, c *call) {
	if c.fn.name == wordBetween {
		n.compare(c.args[0], ">=", c.args[1])
		n.compare(c.args[0], "<=", c.args[2])
	}
}

func narrowedByArray(n *narrowing, c *call) {
	array, ok := c.args[1].(*constant)
	if ok && c.fn.name == "= ANY" {
		n.limit(c.args[0], inUnits(n.elements(array), array.typ.Element(), c.args[0].Type()))
	}
}

func narrowedByList(n *narrowing, c *call) {
	x, items := c.args[0], c.args[1:]
	if c.fn.name != wordIn || !allConstant(items) {
		return
	}
	list := make([]Interval, len(items))
	for i, item := range items {
		list[i] = inUnits(n.constants.interval(item), item.Type(), x.Type())
	}
	n.limit(x, hull(list...))
}

// strictly removes the end that < or > excludes, for values that are whole: integers, days, microseconds.
func (i Interval) strictly(op string, t pgtype.Type) Interval {
	if !t.Whole() && !t.Dated() {
		return i
	}
	if op == "<" && i.High != nil {
		i.High = new(big.Rat).Sub(ceil(i.High), rat(1))
	}
	if op == ">" && i.Low != nil {
		i.Low = new(big.Rat).Add(floor(i.Low), rat(1))
	}
	return i
}

// NotNull returns column IS NOT NULL.
func NotNull(c *Column) Expr {
	return &call{node: node{typ: pgtype.Of(pgtype.Bool)}, fn: testForNull(true), args: []Expr{&Ref{Column: c}}, zone: -1}
}
