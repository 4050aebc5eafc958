package planner

import (
	"dpproxy/parser/ast"
)

// conditional returns the aggregate of a value with the test as its filter, of an aggregate of CASE WHEN test THEN value END: aggregates of
// one argument skip NULL. So both spellings are one question.
func conditional(a *ast.Aggregate) *ast.Aggregate {
	if a.Star || len(a.Args) != 1 || a.Within != nil {
		return a
	}
	c, ok := a.Args[0].(*ast.Case)
	if !ok || c.X != nil || len(c.Whens) != 1 || !isNull(c.Else) || isText(c.Whens[0].Then) {
		return a
	}
	out := *a
	out.Args, out.Filter = []ast.Expr{c.Whens[0].Then}, c.Whens[0].If
	if a.Filter != nil {
		out.Filter = &ast.Bool{Kind: ast.And, Args: []ast.Expr{a.Filter, out.Filter}, At: a.Filter.Pos()}
	}
	return conditional(&out)
}

// isNull reports whether an expression is missing or the word NULL.
func isNull(e ast.Expr) bool {
	c, ok := e.(*ast.Const)
	return e == nil || ok && c.Kind == ast.Null && !c.Unknown
}

// isText reports whether an expression is a text whose type depends on where it stands.
func isText(e ast.Expr) bool {
	c, ok := e.(*ast.Const)
	return ok && (c.Kind == ast.String || c.Kind == ast.Null)
}
