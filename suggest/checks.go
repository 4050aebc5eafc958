package suggest

import (
	"slices"
	"strings"

	"dpproxy/parser"
	"dpproxy/parser/ast"
)

// A domain has the values of a column that constraints admit: the ends of a range, and a list. All are
// as they are written there; "" and nil are unsaid.
type domain struct {
	low, high string
	values    []string
}

// domainOf returns the values of a column that CHECK constraints admit. A constraint that says anything else
// beside, or says it otherwise, says nothing.
func domainOf(column string, checks []string) domain {
	var d domain
	for _, check := range checks {
		if x := conditionOn(column, check); x != nil {
			d.take(column, x)
		}
	}
	return d
}

// checked is the one relation that conditions are read over.
type checked struct{}

// Relation implements parser.Names.
func (checked) Relation(_, name string) (ast.Relation, bool) {
	return ast.Relation{Schema: "public", Name: name, Protected: true}, true
}

// conditionOn parses the expression of a constraint that names a column, as [conditionOf]; nil if it does not.
func conditionOn(column, check string) ast.Expr {
	if !strings.Contains(strings.ToLower(check), strings.ToLower(column)) {
		return nil
	}
	return conditionOf(check)
}

// conditionOf parses the expression of a constraint, as Postgres prints it; nil if it is one that the
// parser has no tree for.
func conditionOf(check string) ast.Expr {
	script, err := parser.Parse("SELECT count(*) FROM checked WHERE "+check, checked{})
	if err != nil || len(script.Statements) != 1 || len(script.Statements[0].Blocks) != 1 {
		return nil
	}
	b := script.Statements[0].Blocks[0]
	if b.Err != nil {
		return nil
	}
	return b.Where
}

// take narrows the domain by a condition that holds of every row.
func (d *domain) take(column string, x ast.Expr) {
	if b, ok := x.(*ast.Bool); ok && b.Kind == ast.And {
		for _, arg := range b.Args {
			d.take(column, arg)
		}
	}
	if b, ok := x.(*ast.Between); ok && !b.Not && !b.Symmetric && names(column, b.X) {
		d.from(">=", constant(b.Low))
		d.from("<=", constant(b.High))
	}
	if op, ok := x.(*ast.Op); ok && op.Left != nil {
		if names(column, op.Left) {
			d.from(op.Name, constant(op.Right))
		} else if names(column, op.Right) {
			d.from(mirrored[op.Name], constant(op.Left))
		}
	}
	if in, ok := x.(*ast.In); ok && !in.Not && names(column, in.X) {
		d.list(in.List)
	}
	if in, ok := x.(*ast.AnyOf); ok && in.Op == "=" && !in.All && names(column, in.Left) {
		if list, ok := uncast(in.Array).(*ast.Array); ok {
			d.list(list.Elems)
		}
	}
}

// mirrored are comparisons with their sides exchanged.
var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}

// from takes a comparison with a constant. The end of an open range is taken as of a closed one: it is
// where values are clamped to, not which there are.
func (d *domain) from(op, end string) {
	switch {
	case end == "":
	case op == ">" || op == ">=":
		d.low = end
	case op == "<" || op == "<=":
		d.high = end
	}
}

func (d *domain) list(elems []ast.Expr) {
	var values []string
	for _, e := range elems {
		v := constant(e)
		if v == "" || slices.Contains(values, v) {
			return
		}
		values = append(values, v)
	}
	d.values = values
}

func names(column string, x ast.Expr) bool {
	c, ok := uncast(x).(*ast.Column)
	return ok && c.Qualifier == "" && c.Name == column
}

// constant returns the text of a constant, "" of anything else.
func constant(x ast.Expr) string {
	x = uncast(x)
	if c, ok := x.(*ast.Const); ok && c.Kind != ast.Null {
		return c.Text
	}
	if op, ok := x.(*ast.Op); ok && op.Left == nil && op.Name == "-" {
		if c, ok := uncast(op.Right).(*ast.Const); ok && (c.Kind == ast.Integer || c.Kind == ast.Number) {
			return "-" + strings.TrimPrefix(c.Text, "-")
		}
	}
	return ""
}

func uncast(x ast.Expr) ast.Expr {
	for {
		c, ok := x.(*ast.Cast)
		if !ok {
			return x
		}
		x = c.X
	}
}
