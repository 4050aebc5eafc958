package source

import (
	"slices"

	"dpproxy/parser/ast"
)

// ApplyFound: EXISTS that looks up the row of a public table by a key, and compares that row with the one around it by more than
// equalities, is true where an outer join with the table has a match.
//
//	FROM visits v WHERE EXISTS (SELECT 1 FROM plans l WHERE l.id = v.plan_id AND l.most < v.cost)
//
//	FROM visits v LEFT JOIN plans l ON l.id = v.plan_id AND l.most < v.cost WHERE l.id IS NOT NULL
//
// With equalities alone it is a semijoin as it stands.
func applyFound(a *applied, e ast.Expr) (ast.Expr, *ast.Join) {
	x, ok := e.(*ast.Exists)
	if !ok {
		return nil, nil
	}
	sel, ok := x.Query.(*ast.Select)
	if !ok || slices.ContainsFunc(sel.Targets, func(t ast.Target) bool { return t.X != nil && !isConstant(t.X) }) {
		return nil, nil
	}
	l := a.lookupOf(sel)
	if l == nil || !l.table.Public || !slices.ContainsFunc(l.conds, func(c ast.Expr) bool { return a.compares(l, c) }) {
		return nil, nil
	}
	join := a.look(l, x.At)
	return l.there(x.At), join
}

// compares reports whether a condition is about the row around, and no equality that ties the query to it.
func (a *applied) compares(l *lookup, e ast.Expr) bool {
	inner, _ := a.tie(l, e)
	return inner == nil && a.sides(l, e)&around != 0
}

func isConstant(e ast.Expr) bool { _, ok := e.(*ast.Const); return ok }
