package sqlgen

import (
	"fmt"
	"strings"
)

// A scope has the columns that expressions can name, with their qualifier in the name.
type scope []column

// ofKinds returns the columns of some kinds.
func (s scope) ofKinds(kinds ...kind) scope {
	var out scope
	for _, c := range s {
		for _, k := range kinds {
			if c.kind == k {
				out = append(out, c)
			}
		}
	}
	return out
}

// where returns the columns for which f holds.
func (s scope) where(f func(column) bool) scope {
	var out scope
	for _, c := range s {
		if f(c) {
			out = append(out, c)
		}
	}
	return out
}

// as returns the columns under another qualifier.
func (s scope) as(alias string) scope {
	out := make(scope, len(s))
	for i, c := range s {
		c.name = alias + "." + c.name
		out[i] = c
	}
	return out
}

// An exprGenerator makes expressions over columns.
type exprGenerator struct{ dice }

// numbers are the kinds that are numbers.
var numbers = []kind{integer, decimal, float}

// number writes an expression over bounded numbers.
func (g exprGenerator) number(s scope, depth int) string {
	cols := s.ofKinds(numbers...).where(column.bounded)
	days := s.ofKinds(date).where(column.bounded)
	if len(cols) == 0 {
		return g.numberConst()
	}
	if depth <= 0 || g.chance(40) {
		return choose(g, cols...).name
	}
	a := func() string { return g.number(s, depth-1) }
	switch g.r.IntN(16) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", a(), choose(g, "+", "-", "*"), g.numberConst())
	case 1:
		return fmt.Sprintf("(%s %s %s)", a(), choose(g, "+", "-"), a())
	case 2:
		return fmt.Sprintf("(%s * %s)", choose(g, cols...).name, choose(g, cols...).name)
	case 3:
		return fmt.Sprintf("(%s / %s)", a(), choose(g, "2", "3.0", "nullif(0, 0)", choose(g, cols...).name))
	case 4:
		return fmt.Sprintf("least(greatest(%s, %s), %s)", a(), choose(g, "0", "-10"), choose(g, "5", "50", "500"))
	case 5:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(s, depth-1), a(), choose(g, a(), "0", "NULL"))
	case 6:
		return fmt.Sprintf("coalesce(%s, %s)", a(), choose(g, "0", "7", a()))
	case 7:
		return fmt.Sprintf("nullif(%s, %s)", a(), choose(g, "0", "1", "5"))
	case 8:
		return fmt.Sprintf("abs(%s)", a())
	case 9:
		return fmt.Sprintf("-(%s)", a())
	case 10:
		if whole := cols.where(func(c column) bool { return c.typ == "int" || strings.HasPrefix(c.typ, "numeric") }); len(whole) > 0 {
			return fmt.Sprintf("(%s %% %s)", choose(g, whole...).name, choose(g, "2", "3", "7"))
		}
	case 11:
		return fmt.Sprintf("%s(%s)", choose(g, "floor", "ceil", "round", "trunc", "sign"), a())
	case 12:
		if len(days) > 0 {
			return fmt.Sprintf("extract(%s FROM %s)", choose(g, "year", "month", "dow", "doy"), choose(g, days...).name)
		}
	case 13:
		if len(days) > 0 {
			return fmt.Sprintf("(%s - date '2020-01-01')", choose(g, days...).name)
		}
	case 14:
		return fmt.Sprintf("CAST(%s AS %s)", a(), choose(g, "numeric", "float8", "bigint", "numeric(12,1)", "int"))
	case 15:
		return fmt.Sprintf("(%s)::int", g.condition(s, depth-1))
	}
	return choose(g, cols...).name
}

func (g exprGenerator) numberConst() string {
	return choose(g, "0", "1", "2", "-3", "0.5", "10", "1e3", "100")
}

// condition writes a boolean expression.
func (g exprGenerator) condition(s scope, depth int) string {
	if depth > 0 && g.chance(40) {
		a, b := g.condition(s, depth-1), g.condition(s, depth-1)
		return choose(g, "("+a+" AND "+b+")", "("+a+" OR "+b+")", "NOT ("+a+")", "("+a+") IS NOT TRUE", "("+a+") IS UNKNOWN")
	}
	if len(s) == 0 {
		return choose(g, "true", "1 < 2")
	}
	c := choose(g, s...)
	if g.chance(12) {
		return c.name + choose(g, " IS NULL", " IS NOT NULL")
	}
	switch c.kind {
	case integer, decimal, float:
		return g.compareNumber(s, c, depth)
	case text:
		return g.compareText(c)
	case boolean:
		return choose(g, c.name, "NOT "+c.name, c.name+" IS TRUE", c.name+" = true")
	case date, instant:
		return g.compareTime(c)
	case mood:
		return c.name + choose(g, " = 'sad'", " <> 'ok'", " > 'sad'", " IN ('ok', 'happy')")
	case unit, span, composite, array:
		return c.name + " IS NOT NULL"
	}
	return "true"
}

func (g exprGenerator) compareNumber(s scope, c column, depth int) string {
	x := c.name
	if depth > 0 && c.bounded() {
		x = g.number(s, depth-1)
	}
	op := choose(g, "=", "<>", "<", "<=", ">", ">=")
	return choose(g,
		fmt.Sprintf("%s %s %s", x, op, g.numberConst()),
		fmt.Sprintf("%s BETWEEN %s AND %s", x, choose(g, "0", "-10", "1"), choose(g, "5", "50", "150")),
		fmt.Sprintf("%s IN (0, 1, 2, 5)", x),
		fmt.Sprintf("%s IS DISTINCT FROM %s", c.name, choose(g, "1", "NULL", "2.5")),
		fmt.Sprintf("%s = ANY (ARRAY[1, 2, 3])", c.name),
		fmt.Sprintf("%s NOT IN (1, 2)", c.name),
	)
}

func (g exprGenerator) compareText(c column) string {
	x := choose(g, c.name, c.name, "lower("+c.name+")", "upper("+c.name+")", c.name+" || 'x'")
	return choose(g,
		x+choose(g, " = ", " <> ", " < ", " >= ")+choose(g, "'a'", "'f'", "'north'", "''", "'x'"),
		x+" LIKE "+choose(g, "'%a%'", "'n%'", "'_'", `'a\\%'`, "'%'"),
		c.name+" ILIKE '%A%'",
		c.name+choose(g, " ~ ", " ~ ", " !~ ", " ~* ")+
			choose(g, "'^[a-n]+$'", "'[a-f].$'", "'^[^n]*$'", "'^([a-m]|no)[a-z]{0,4}$'", "'a[^x]?'"),
		c.name+" IN ('a', 'b', 'f', 'x')",
		"length("+c.name+") > "+choose(g, "0", "1", "3"),
		c.name+" NOT LIKE 'x%'",
		"substring("+c.name+" FROM 1 FOR 1) = 'a'",
		"trim("+c.name+") = 'a'",
	)
}

func (g exprGenerator) compareTime(c column) string {
	typ := "date"
	if c.kind == instant {
		typ = strings.Fields(c.typ)[0]
	}
	return choose(g,
		c.name+choose(g, " = ", " < ", " >= ", " > ")+typ+choose(g, " '2020-03-01'", " '2020-07-15'", " '2019-12-31'"),
		c.name+" BETWEEN "+typ+choose(g, " '2020-02-01' AND ", " '2020-08-31' AND ")+typ+" '2020-09-01'", // much, and little of the bounds
		"extract(month FROM "+c.name+") "+choose(g, "= 6", "< 4", "IN (1, 2)"),
		"date_trunc('month', "+c.name+") = "+typ+" '2020-06-01'",
		c.name+" + interval '1 day' > "+typ+" '2020-06-01'",
		c.name+" - interval '1 month' < "+typ+" '2020-06-01'",
	)
}

// maybe returns a condition, or nothing.
func (g exprGenerator) maybe(percent int, s scope) string {
	if g.chance(percent) {
		return g.condition(s, 1)
	}
	return ""
}

// key writes an expression to group by.
func (g exprGenerator) key(s scope) string {
	declared := s.where(func(c column) bool { return c.values != nil })
	if len(declared) > 0 && g.chance(45) {
		return choose(g, declared...).name
	}
	c := choose(g, s...)
	switch c.kind {
	case integer, decimal, float:
		return choose(g, c.name, c.name, c.name+" > 5", "CASE WHEN "+c.name+" > 1 THEN 'more' ELSE 'less' END", "("+c.name+" IS NULL)")
	case text:
		return choose(g, c.name, c.name, "upper("+c.name+")", "lower("+c.name+")", c.name+" = 'a'", "coalesce("+c.name+", 'none')")
	case date, instant:
		return choose(g, c.name, "date_trunc('month', "+c.name+")", "extract(month FROM "+c.name+")", "date_trunc('year', "+c.name+")",
			c.name+"::date")
	case boolean, mood, span, composite, array, unit:
	}
	if c.kind == unit {
		return "(" + c.name + " IS NULL)"
	}
	return c.name
}
