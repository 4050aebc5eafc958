package scalar

import "slices"

// operands returns the expressions directly below e.
func operands(e Expr) []Expr {
	switch e := e.(type) {
	case *Ref, *Query, *constant:
		return nil
	case *comparison:
		return []Expr{e.left, e.right}
	case *distinct:
		return []Expr{e.left, e.right}
	case *among:
		return append([]Expr{e.x}, e.list...)
	case *between:
		return []Expr{e.x, e.low, e.high}
	case *like:
		return []Expr{e.x, e.pattern}
	case *anyOf:
		return []Expr{e.x, e.array}
	case *logic:
		return e.args
	case *null:
		return []Expr{e.x}
	case *truth:
		return []Expr{e.x}
	case *call:
		return e.args
	case *cast:
		return []Expr{e.x}
	case *choice:
		return e.args
	case *nullIf:
		return []Expr{e.left, e.right}
	case *branches:
		return e.operands()
	case *aggregate:
		return present(e.x, e.filter)
	}
	return nil
}

func (e *branches) operands() []Expr {
	all := present(e.x)
	for _, w := range e.whens {
		all = append(all, w.cond, w.then)
	}
	return append(all, present(e.otherwise)...)
}

// compared returns what CASE compares with each other: nothing where it has conditions.
func (e *branches) compared() []Expr {
	if e.x == nil {
		return nil
	}
	all := []Expr{e.x}
	for _, w := range e.whens {
		all = append(all, w.cond)
	}
	return all
}

// present leaves out what is nil.
func present(list ...Expr) []Expr {
	return slices.DeleteFunc(list, func(e Expr) bool { return e == nil })
}

func columnsOf(e Expr) []*Column {
	var all []*Column
	add := func(cols ...*Column) {
		for _, c := range cols {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	switch e := e.(type) { //nolint:gochecksumtype // the others have columns only below
	case *Ref:
		add(e.Column)
	case *Query:
		add(e.Uses...)
	}
	for _, o := range operands(e) {
		add(columnsOf(o)...)
	}
	return all
}
