package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// Comparisons of row values, and LIKE with several patterns, become conditions on their parts,
// as in Postgres (make_row_comparison_op in src/backend/parser/parse_expr.c). A part
// that stands in several of them is converted, and counted, each time.

const columnsOneByOne = "Rows can be compared with = <> < <= > >= and IN, as in (a, b) = (1, 2); elsewhere write their columns one by one."

// fields returns the parts of a row value, nil for any other expression.
func fields(n *pg.Node) []*pg.Node { return n.GetRowExpr().GetArgs() }

// rowComparison converts a comparison of two row values.
func (v exprConverter) rowComparison(op string, left, right *pg.Node, location int32) ast.Expr {
	l, r := fields(left), fields(right)
	at := v.a.pos(location)
	switch {
	case len(l) == 0 || len(l) != len(r):
		v.forbid(location, "a comparison of a row with anything but a row of as many columns", columnsOneByOne)
		return nil
	case op == "=":
		return v.columnwise(ast.And, l, r, at, v.comparing(op, at))
	case op == "<>":
		return v.columnwise(ast.Or, l, r, at, v.comparing(op, at))
	case slices.Contains([]string{"<", "<=", ">", ">="}, op):
		return v.rowOrder(op, l, r, at)
	}
	v.forbid(location, "operator "+op+" of row values", columnsOneByOne)
	return nil
}

// comparing returns a function that compares two expressions.
func (v exprConverter) comparing(op string, at int) func(l, r *pg.Node) ast.Expr {
	return func(l, r *pg.Node) ast.Expr { return &ast.Op{Name: op, Left: v.expr(l), Right: v.expr(r), At: at} }
}

// columnwise is a condition on each pair of columns, all of them joined by AND or OR.
func (v exprConverter) columnwise(kind ast.BoolKind, l, r []*pg.Node, at int, pair func(l, r *pg.Node) ast.Expr) ast.Expr {
	parts := make([]ast.Expr, len(l))
	for i := range l {
		parts[i] = pair(l[i], r[i])
	}
	return combined(kind, parts, at)
}

// combined joins conditions by AND or OR.
func combined(kind ast.BoolKind, parts []ast.Expr, at int) ast.Expr {
	if len(parts) == 1 {
		return parts[0]
	}
	return &ast.Bool{Kind: kind, Args: parts, At: at}
}

// rowOrder compares two rows by the first columns that differ: a < x OR a = x AND b < y. It is
// NULL where Postgres's is: if one of these two columns is.
func (v exprConverter) rowOrder(op string, l, r []*pg.Node, at int) ast.Expr {
	last := len(l) - 1
	out := v.comparing(op, at)(l[last], r[last])
	for i := last - 1; i >= 0; i-- {
		differ := v.comparing(op[:1], at)(l[i], r[i])
		equal := v.comparing("=", at)(l[i], r[i])
		out = &ast.Bool{Kind: ast.Or, At: at, Args: []ast.Expr{differ, &ast.Bool{Kind: ast.And, Args: []ast.Expr{equal, out}, At: at}}}
	}
	return out
}

// distinct converts IS [NOT] DISTINCT FROM.
func (v exprConverter) distinct(e *pg.A_Expr) ast.Expr {
	at := v.a.pos(e.Location)
	not := e.Kind == pg.A_Expr_Kind_AEXPR_NOT_DISTINCT
	pair := func(l, r *pg.Node) ast.Expr {
		return &ast.Distinct{Left: v.expr(l), Right: v.expr(r), Not: not, At: at}
	}
	l, r := fields(e.Lexpr), fields(e.Rexpr)
	switch {
	case len(l) == 0 || len(l) != len(r):
		return pair(e.Lexpr, e.Rexpr)
	case not:
		return v.columnwise(ast.And, l, r, at, pair)
	}
	return v.columnwise(ast.Or, l, r, at, pair)
}

// inTest converts X [NOT] IN (list), of rows as a comparison with each of them.
func (v exprConverter) inTest(e *pg.A_Expr) ast.Expr {
	at, op := v.a.pos(e.Location), pgtree.OperatorName(e)
	items := e.Rexpr.GetList().GetItems()
	if e.Lexpr.GetRowExpr() == nil {
		return &ast.In{X: v.expr(e.Lexpr), List: v.exprs(items), Not: op == "<>", At: at}
	}
	var parts []ast.Expr
	for _, item := range items {
		parts = append(parts, v.rowComparison(op, e.Lexpr, item, e.Location))
	}
	if op == "<>" {
		return combined(ast.And, parts, at)
	}
	return combined(ast.Or, parts, at)
}

// constantList returns the values of VALUES with one column of literals and parameters, nil of any
// other query.
func constantList(sel *pg.SelectStmt) (list []*pg.Node) {
	if sel.GetLimitCount() != nil || sel.GetLimitOffset() != nil || len(sel.GetSortClause()) > 0 ||
		sel.GetWithClause() != nil || len(sel.GetLockingClause()) > 0 {
		return nil
	}
	for _, row := range sel.GetValuesLists() {
		items := row.GetList().GetItems()
		if len(items) != 1 || !isLiteral(items[0]) {
			return nil
		}
		list = append(list, items[0])
	}
	return list
}

// isLiteral reports whether a node is a literal or a parameter, also with a cast.
func isLiteral(n *pg.Node) bool {
	if c := n.GetTypeCast(); c != nil {
		n = c.Arg
	}
	return n.GetAConst() != nil || n.GetParamRef() != nil
}

// inValues converts X IN (VALUES ...) as a list. Literals without a type are texts there, unless one
// has a type.
func (v exprConverter) inValues(s *pg.SubLink, items []*pg.Node) ast.Expr {
	list := v.exprs(items)
	untyped := func(e ast.Expr) bool {
		c, ok := e.(*ast.Const)
		return ok && (c.Kind == ast.String || c.Kind == ast.Null)
	}
	if !slices.ContainsFunc(list, func(e ast.Expr) bool { return !untyped(e) }) {
		for i, e := range list {
			list[i] = &ast.Cast{X: e, Type: ast.TypeName{Schema: "pg_catalog", Name: "text"}, At: e.Pos()}
		}
	}
	return &ast.In{X: v.expr(s.Testexpr), List: list, Values: true, At: v.a.pos(s.Location)}
}

// anyPattern converts X [NOT] [I]LIKE ANY (ARRAY[...]), or ALL.
func (v exprConverter) anyPattern(op string, e *pg.A_Expr) ast.Expr {
	patterns, element := v.patterns(e.Rexpr)
	if len(patterns) == 0 {
		v.forbid(e.Location, "LIKE with ANY or ALL of anything but ARRAY[...]",
			"Write the patterns one by one: LIKE ANY (ARRAY['a%', 'b%']).")
		return nil
	}
	at := v.a.pos(e.Location)
	var parts []ast.Expr
	for _, p := range patterns {
		parts = append(parts, &ast.Op{Name: op, Left: v.expr(e.Lexpr), Right: element(p), At: at})
	}
	if e.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL {
		return combined(ast.And, parts, at)
	}
	return combined(ast.Or, parts, at)
}

// patterns returns the elements of ARRAY[...], also with a cast to an array of texts, and the
// conversion of one.
func (v exprConverter) patterns(array *pg.Node) ([]*pg.Node, func(*pg.Node) ast.Expr) {
	cast := array.GetTypeCast()
	if cast == nil {
		return array.GetAArrayExpr().GetElements(), v.expr
	}
	t, ok := typeName(cast.TypeName)
	if !ok || !t.Array || t.Name != "text" && t.Name != "varchar" || len(t.Mods) > 0 {
		return nil, nil
	}
	t.Array = false
	return cast.Arg.GetAArrayExpr().GetElements(), func(n *pg.Node) ast.Expr {
		return &ast.Cast{X: v.expr(n), Type: t, At: v.a.pos(cast.Location)}
	}
}
