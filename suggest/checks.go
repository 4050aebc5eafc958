package suggest

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/constraint"
)

// A domain is the values of a column that constraints admit: the ends of a range, and a list, as written in the constraints. "" and nil are
// unknown.
type domain struct {
	low, high string
	values    []string
}

// domainOf returns the values of a column that CHECK constraints admit. A constraint that says more, or that is not understood, says
// nothing.
func domainOf(column string, checks []string) domain {
	var d domain
	for _, check := range checks {
		if x := constraint.ConditionOn(column, check); x != nil {
			d.take(column, x)
		}
	}
	return d
}

// take narrows the domain by a condition that every row meets.
func (d *domain) take(column string, x ast.Expr) {
	if b, ok := x.(*ast.Bool); ok && b.Kind == ast.And {
		for _, arg := range b.Args {
			d.take(column, arg)
		}
	}
	if b, ok := x.(*ast.Between); ok && !b.Not && !b.Symmetric && constraint.Names(column, b.X) {
		d.from(">=", constraint.Constant(b.Low))
		d.from("<=", constraint.Constant(b.High))
	}
	if op, ok := x.(*ast.Op); ok && op.Left != nil {
		if constraint.Names(column, op.Left) {
			d.from(op.Name, constraint.Constant(op.Right))
		} else if constraint.Names(column, op.Right) {
			d.from(constraint.Mirrored[op.Name], constraint.Constant(op.Left))
		}
	}
	if in, ok := x.(*ast.In); ok && !in.Not && constraint.Names(column, in.X) {
		d.list(in.List)
	}
	if in, ok := x.(*ast.AnyOf); ok && in.Op == "=" && !in.All && constraint.Names(column, in.Left) {
		if list, ok := constraint.Uncast(in.Array).(*ast.Array); ok {
			d.list(list.Elems)
		}
	}
}

// from uses a comparison with a constant. An excluded end counts as included: bounds clamp values, and need not be attained.
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
		v := constraint.Constant(e)
		if v == "" || slices.Contains(values, v) {
			return
		}
		values = append(values, v)
	}
	d.values = values
}
