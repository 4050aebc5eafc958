package constraint

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A Column is a column with the conditions that its type and constraints impose on its values.
type Column struct {
	typ    pgtype.Type
	fam    pgtype.Family
	padded bool     // blanks at the end are ignored: the type is char(n)
	labels []string // of an enum
	all    []condition
}

// A condition holds for every row of the table, or is NULL. called is the name by which it calls the column.
type condition struct {
	called string
	is     ast.Expr
}

// On returns the conditions for a column of a table; labels are the labels of its enum. It is nil for an array, and for a collation in
// which equal values can differ in their bytes.
func On(t *catalog.Table, of *catalog.Column, labels []string) *Column {
	typ := pgtype.OfColumn(of.Type, of.Collation, of.Deterministic)
	c := &Column{typ: typ, fam: typ.Family(), padded: typ.OID == pgtype.Bpchar, labels: labels}
	if typ.Array || !of.Deterministic {
		return nil
	}
	for _, check := range t.Checks {
		c.add(of.Name, check.Expr)
	}
	for _, check := range of.Checks {
		c.add("value", check)
	}
	return c
}

func (c *Column) add(called, check string) {
	if x := ConditionOn(called, check); x != nil {
		c.all = append(c.all, condition{called, x})
	}
}

// A value is a value of the column: a number, or microseconds since 2000-01-01, by its place, and any other value by its text.
type value struct {
	text string
	at   *big.Rat // nil if the type has no order here
}

// compare orders two values. If their places are nil, only a result of 0 has a meaning: they are equal.
func (v value) compare(o value) int {
	if v.at != nil && o.at != nil {
		return v.at.Cmp(o.at)
	}
	return cmp.Compare(v.text, o.text)
}

// value reads a value as a policy and Postgres write it.
func (c *Column) value(text string) (v value, ok bool) {
	switch c.fam {
	case pgtype.IntFamily, pgtype.NumericFamily, pgtype.FloatFamily:
		at, ok := Number(text)
		return value{text, at}, ok
	case pgtype.DateFamily, pgtype.InstantFamily:
		at, ok := scalar.Instant(text)
		return value{text, at}, ok
	case pgtype.TextFamily:
		if c.padded {
			text = strings.TrimRight(text, " ")
		}
		return value{text: text}, true
	case pgtype.BoolFamily, pgtype.EnumFamily:
		return value{text: text}, true
	case pgtype.NoFamily, pgtype.TimeFamily, pgtype.IntervalFamily, pgtype.UUIDFamily:
	}
	return value{}, false
}

// Same reports whether two values are equal.
func (c *Column) Same(v, w string) bool {
	a, ok := c.value(v)
	b, also := c.value(w)
	return ok && also && a.compare(b) == 0
}

// Admits reports whether no condition excludes a value. A value that it cannot read is admitted.
func (c *Column) Admits(text string) bool {
	v, ok := c.value(text)
	return !ok || c.admits(v) && (c.labels == nil || slices.Contains(c.labels, text))
}

func (c *Column) admits(v value) bool {
	return !slices.ContainsFunc(c.all, func(x condition) bool { return c.fails(x, v) })
}

func (c *Column) fails(x condition, v value) bool { return trial{c, x.called, v}.judge(x.is) == fails }

// constants are the constants with which conditions compare the column.
func (c *Column) constants() (all []value) {
	for _, x := range c.all {
		all = append(all, c.constantsOf(x.is)...)
	}
	return all
}

func (c *Column) constantsOf(x ast.Expr) (all []value) {
	if v, ok := c.constant(x); ok {
		return []value{v}
	}
	for _, e := range parts(x) {
		if e != nil {
			all = append(all, c.constantsOf(e)...)
		}
	}
	return all
}

// parts are the subexpressions of a condition that can be constants or conditions.
func parts(x ast.Expr) []ast.Expr {
	switch x := x.(type) { //nolint:gochecksumtype // others are not understood
	case *ast.Bool:
		return x.Args
	case *ast.Between:
		return []ast.Expr{x.Low, x.High}
	case *ast.Op:
		return []ast.Expr{x.Left, x.Right}
	case *ast.In:
		return x.List
	case *ast.AnyOf:
		list, _ := elements(x.Array)
		return list
	}
	return nil
}
