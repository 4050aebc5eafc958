package scalar

import (
	"slices"
)

// A sameness compares expressions by their structure.
type sameness struct {
	// columns and folds say which columns and which constants are the same.
	columns func(a, b *Column) bool
	folds   func(a, b int) bool
	// pattern says that a is a pattern: b may have declared bounds that a does not have, and may swap the operands of a sum or product.
	pattern bool
}

// identity is the sameness of expressions over the same columns and constants.
var identity = sameness{
	columns: func(a, b *Column) bool { return a == b },
	folds:   func(a, b int) bool { return a == b },
}

// same reports whether two expressions are the same.
func (s sameness) same(a, b Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if x, ok := b.(*bounded); ok && s.pattern {
		b = x.x
	}
	if _, plain := a.(*Ref); !plain && a.Type() != b.Type() || !s.sameNode(a, b) {
		return false
	}
	x, y := operands(a), operands(b)
	return slices.EqualFunc(x, y, s.same) || s.pattern && commutes(a) && s.same(x[0], y[1]) && s.same(x[1], y[0])
}

// commutes reports whether an expression is a sum or a product of two values.
func commutes(e Expr) bool {
	c, ok := e.(*call)
	return ok && c.fn.commutes()
}

func (f *function) commutes() bool {
	return f.operator && (f.name == "+" || f.name == "*") && len(f.args) == 2
}

// mirrors reports whether two operators are the same with their operands swapped.
func (f *function) mirrors(o *function) bool {
	return f.commutes() && f.name == o.name && f.over == o.over && len(o.args) == 2 && f.args[0] == o.args[1] && f.args[1] == o.args[0]
}

// sameNode compares two expressions without their operands. Equal nodes have corresponding operands at the same places.
func (s sameness) sameNode(a, b Expr) bool {
	zones := func(i, j int) bool { return (i < 0) == (j < 0) && (i < 0 || s.folds(i, j)) }
	switch a := a.(type) {
	case *Ref:
		b, ok := b.(*Ref)
		return ok && s.columns(a.Column, b.Column)
	case *Query:
		return a == b
	case *constant:
		b, ok := b.(*constant)
		return ok && s.folds(a.fold, b.fold)
	case *term:
		return a == b
	case *logic:
		b, ok := b.(*logic)
		return ok && a.kind == b.kind
	case *call:
		b, ok := b.(*call)
		return ok && (a.fn.same(b.fn) || s.pattern && a.fn.mirrors(b.fn)) && zones(a.zone, b.zone)
	case *cast:
		b, ok := b.(*cast)
		return ok && zones(a.zone, b.zone)
	case *choice:
		b, ok := b.(*choice)
		return ok && a.kind == b.kind && (a.x == nil) == (b.x == nil)
	case *bounded:
		b, ok := b.(*bounded)
		return ok && a.by == b.by
	case *aggregate:
		b, ok := b.(*aggregate)
		return ok && a.name == b.name && a.distinct == b.distinct && a.rows == b.rows && (a.x == nil) == (b.x == nil) &&
			(a.filter == nil) == (b.filter == nil) && a.over.same(b.over)
	}
	return false
}
