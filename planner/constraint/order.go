package constraint

import (
	"dpproxy/catalog"
	"dpproxy/parser/ast"
)

// An Order says that one column of a row is never above another one: less <= greater, as far as neither is NULL.
type Order struct{ Less, Greater string }

// Orders returns what CHECK constraints of a table say about two of its columns. All that a constraint joins by AND holds.
func Orders(t *catalog.Table) (all []Order) {
	for _, check := range t.Checks {
		if len(check.Columns) < 2 {
			continue
		}
		for _, c := range conjuncts(ConditionOn(check.Columns[0], check.Expr)) {
			op, ok := c.(*ast.Op)
			if !ok {
				continue
			}
			left, plain := op.Left.(*ast.Column)
			right, too := op.Right.(*ast.Column)
			switch {
			case !plain || !too || left.Name == right.Name:
			case op.Name == "<" || op.Name == "<=":
				all = append(all, Order{left.Name, right.Name})
			case op.Name == ">" || op.Name == ">=":
				all = append(all, Order{right.Name, left.Name})
			}
		}
	}
	return all
}

func conjuncts(x ast.Expr) []ast.Expr {
	b, ok := x.(*ast.Bool)
	if !ok || b.Kind != ast.And {
		return []ast.Expr{x}
	}
	var all []ast.Expr
	for _, arg := range b.Args {
		all = append(all, conjuncts(arg)...)
	}
	return all
}
