package constraint

import (
	"cmp"

	"dpproxy/parser/ast"
)

// A verdict says whether a condition holds for a value.
type verdict int

const (
	unjudged verdict = iota // the condition depends on more than the value, or is not understood
	holds
	fails
)

func verdictOf(holding bool) verdict {
	if holding {
		return holds
	}
	return fails
}

func (v verdict) not() verdict {
	switch v {
	case holds:
		return fails
	case fails:
		return holds
	case unjudged:
	}
	return unjudged
}

func both(a, b verdict) verdict {
	switch {
	case a == fails || b == fails:
		return fails
	case a == holds && b == holds:
		return holds
	}
	return unjudged
}

// A trial judges conditions on a value of a column that is not NULL.
type trial struct {
	*Column
	called string // the name of the column in the condition
	value  value
}

// judge returns whether a condition holds.
func (t trial) judge(x ast.Expr) verdict {
	switch x := x.(type) { //nolint:gochecksumtype // others are not understood
	case *ast.Bool:
		return t.combine(x)
	case *ast.Between:
		if x.Symmetric {
			return unjudged
		}
		v := both(t.compare(">=", x.X, x.Low), t.compare("<=", x.X, x.High))
		if x.Not {
			v = v.not()
		}
		return v
	case *ast.Op:
		if x.Left == nil {
			return unjudged
		}
		if t.is(x.Right) {
			return t.compare(cmp.Or(Mirrored[x.Name], x.Name), x.Right, x.Left)
		}
		return t.compare(x.Name, x.Left, x.Right)
	case *ast.In:
		v := t.any("=", x.X, x.List)
		if x.Not {
			v = v.not()
		}
		return v
	case *ast.AnyOf:
		list, ok := elements(x.Array)
		switch {
		case !ok:
			return unjudged
		case x.All:
			return t.any(opposite[x.Op], x.Left, list).not()
		}
		return t.any(x.Op, x.Left, list)
	case *ast.IsNull:
		if t.is(x.X) {
			return verdictOf(x.Not)
		}
	}
	return unjudged
}

// is reports whether an expression is the column.
func (t trial) is(x ast.Expr) bool { return t.isColumn(t.called, x) }

// combine judges AND, OR and NOT.
func (t trial) combine(x *ast.Bool) verdict {
	v := t.judge(x.Args[0])
	if x.Kind == ast.Not {
		return v.not()
	}
	for _, arg := range x.Args[1:] {
		if next := t.judge(arg); x.Kind == ast.And {
			v = both(v, next)
		} else {
			v = both(v.not(), next.not()).not()
		}
	}
	return v
}

// any judges whether a comparison holds for at least one value of a list.
func (t trial) any(op string, x ast.Expr, list []ast.Expr) verdict {
	v := fails
	for _, e := range list {
		v = both(v.not(), t.compare(op, x, e).not()).not()
	}
	return v
}

// compare judges a comparison of the column with a constant. It does not order texts, because collations differ.
func (t trial) compare(op string, x, y ast.Expr) verdict {
	other, ok := t.constant(y)
	if !ok || !t.is(x) {
		return unjudged
	}
	order := t.value.compare(other)
	switch op {
	case "=":
		return verdictOf(order == 0)
	case "<>":
		return verdictOf(order != 0)
	}
	if t.value.at == nil {
		return unjudged
	}
	switch op {
	case "<":
		return verdictOf(order < 0)
	case "<=":
		return verdictOf(order <= 0)
	case ">":
		return verdictOf(order > 0)
	case ">=":
		return verdictOf(order >= 0)
	}
	return unjudged
}
