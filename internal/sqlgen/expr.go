package sqlgen

import (
	"fmt"
	"strings"
)

// A scope is what expressions can name: columns with their qualifier in the name.
type scope []column

// of returns the columns of some kinds.
func (s scope) of(kinds ...kind) scope {
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

// numbers are the kinds that are numbers.
var numbers = []kind{integer, decimal, float}

// number writes an expression over bounded numbers.
func (g *Generator) number(s scope, depth int) string {
	cols := s.of(numbers...).where(column.bounded)
	days := s.of(date).where(column.bounded)
	if len(cols) == 0 {
		return g.numberConst()
	}
	if depth <= 0 || g.chance(40) {
		return one(g, cols...).name
	}
	a := func() string { return g.number(s, depth-1) }
	switch g.r.IntN(16) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", a(), one(g, "+", "-", "*"), g.numberConst())
	case 1:
		return fmt.Sprintf("(%s %s %s)", a(), one(g, "+", "-"), a())
	case 2:
		return fmt.Sprintf("(%s * %s)", one(g, cols...).name, one(g, cols...).name)
	case 3:
		return fmt.Sprintf("(%s / %s)", a(), one(g, "2", "3.0", "nullif(0, 0)", one(g, cols...).name))
	case 4:
		return fmt.Sprintf("least(greatest(%s, %s), %s)", a(), one(g, "0", "-10"), one(g, "5", "50", "500"))
	case 5:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(s, depth-1), a(), one(g, a(), "0", "NULL"))
	case 6:
		return fmt.Sprintf("coalesce(%s, %s)", a(), one(g, "0", "7", a()))
	case 7:
		return fmt.Sprintf("nullif(%s, %s)", a(), one(g, "0", "1", "5"))
	case 8:
		return fmt.Sprintf("abs(%s)", a())
	case 9:
		return fmt.Sprintf("-(%s)", a())
	case 10:
		if whole := cols.where(func(c column) bool { return c.typ == "int" || strings.HasPrefix(c.typ, "numeric") }); len(whole) > 0 {
			return fmt.Sprintf("(%s %% %s)", one(g, whole...).name, one(g, "2", "3", "7"))
		}
	case 11:
		return fmt.Sprintf("%s(%s)", one(g, "floor", "ceil", "round", "trunc", "sign"), a())
	case 12:
		if len(days) > 0 {
			return fmt.Sprintf("extract(%s FROM %s)", one(g, "year", "month", "dow", "doy"), one(g, days...).name)
		}
	case 13:
		if len(days) > 0 {
			return fmt.Sprintf("(%s - date '2020-01-01')", one(g, days...).name)
		}
	case 14:
		return fmt.Sprintf("CAST(%s AS %s)", a(), one(g, "numeric", "float8", "bigint", "numeric(12,1)", "int"))
	case 15:
		return fmt.Sprintf("(%s)::int", g.condition(s, depth-1))
	}
	return one(g, cols...).name
}

func (g *Generator) numberConst() string {
	return one(g, "0", "1", "2", "-3", "0.5", "10", "1e3", "100")
}

// condition writes a boolean expression.
func (g *Generator) condition(s scope, depth int) string {
	if depth > 0 && g.chance(40) {
		a, b := g.condition(s, depth-1), g.condition(s, depth-1)
		return one(g, "("+a+" AND "+b+")", "("+a+" OR "+b+")", "NOT ("+a+")", "("+a+") IS NOT TRUE", "("+a+") IS UNKNOWN")
	}
	if len(s) == 0 {
		return one(g, "true", "1 < 2")
	}
	c := one(g, s...)
	if g.chance(12) {
		return c.name + one(g, " IS NULL", " IS NOT NULL")
	}
	switch c.kind {
	case integer, decimal, float:
		return g.compareNumber(s, c, depth)
	case text:
		return g.compareText(c)
	case boolean:
		return one(g, c.name, "NOT "+c.name, c.name+" IS TRUE", c.name+" = true")
	case date, instant:
		return g.compareTime(c)
	case mood:
		return c.name + one(g, " = 'sad'", " <> 'ok'", " > 'sad'", " IN ('ok', 'happy')")
	case unit, span, composite:
		return c.name + " IS NOT NULL"
	}
	return "true"
}

func (g *Generator) compareNumber(s scope, c column, depth int) string {
	x := c.name
	if depth > 0 && c.bounded() {
		x = g.number(s, depth-1)
	}
	op := one(g, "=", "<>", "<", "<=", ">", ">=")
	return one(g,
		fmt.Sprintf("%s %s %s", x, op, g.numberConst()),
		fmt.Sprintf("%s BETWEEN %s AND %s", x, one(g, "0", "-10", "1"), one(g, "5", "50", "150")),
		fmt.Sprintf("%s IN (0, 1, 2, 5)", x),
		fmt.Sprintf("%s IS DISTINCT FROM %s", c.name, one(g, "1", "NULL", "2.5")),
		fmt.Sprintf("%s = ANY (ARRAY[1, 2, 3])", c.name),
		fmt.Sprintf("%s NOT IN (1, 2)", c.name),
	)
}

func (g *Generator) compareText(c column) string {
	x := one(g, c.name, c.name, "lower("+c.name+")", "upper("+c.name+")", c.name+" || 'x'")
	return one(g,
		x+one(g, " = ", " <> ", " < ", " >= ")+one(g, "'a'", "'f'", "'north'", "''", "'x'"),
		x+" LIKE "+one(g, "'%a%'", "'n%'", "'_'", `'a\\%'`, "'%'"),
		c.name+" ILIKE '%A%'",
		c.name+" IN ('a', 'b', 'f', 'x')",
		"length("+c.name+") > "+one(g, "0", "1", "3"),
		c.name+" NOT LIKE 'x%'",
		"substring("+c.name+" FROM 1 FOR 1) = 'a'",
		"trim("+c.name+") = 'a'",
	)
}

func (g *Generator) compareTime(c column) string {
	typ := "date"
	if c.kind == instant {
		typ = strings.Fields(c.typ)[0]
	}
	return one(g,
		c.name+one(g, " = ", " < ", " >= ", " > ")+typ+one(g, " '2020-03-01'", " '2020-07-15'", " '2019-12-31'"),
		c.name+" BETWEEN "+typ+" '2020-02-01' AND "+typ+" '2020-09-01'",
		"extract(month FROM "+c.name+") "+one(g, "= 6", "< 4", "IN (1, 2)"),
		"date_trunc('month', "+c.name+") = "+typ+" '2020-06-01'",
		c.name+" + interval '1 day' > "+typ+" '2020-06-01'",
		c.name+" - interval '1 month' < "+typ+" '2020-06-01'",
	)
}

// key writes an expression to group by.
func (g *Generator) key(s scope) string {
	declared := s.where(func(c column) bool { return c.values != nil })
	if len(declared) > 0 && g.chance(45) {
		return one(g, declared...).name
	}
	c := one(g, s...)
	switch c.kind {
	case integer, decimal, float:
		return one(g, c.name, c.name, c.name+" > 5", "CASE WHEN "+c.name+" > 1 THEN 'more' ELSE 'less' END", "("+c.name+" IS NULL)")
	case text:
		return one(g, c.name, c.name, "upper("+c.name+")", "lower("+c.name+")", c.name+" = 'a'", "coalesce("+c.name+", 'none')")
	case date, instant:
		return one(g, c.name, "date_trunc('month', "+c.name+")", "extract(month FROM "+c.name+")", "date_trunc('year', "+c.name+")", c.name+"::date")
	case boolean, mood, span, composite, unit:
	}
	if c.kind == unit {
		return "(" + c.name + " IS NULL)"
	}
	return c.name
}
