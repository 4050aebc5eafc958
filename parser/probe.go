package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// isProbe reports whether the answer of a query has no rows whatever the data:
// LIMIT 0, or a constant-false WHERE of a query that has a row for each row or for each group of its keys:
// GROUP BY (), and aggregates without GROUP BY, have a row of no rows. BI tools ask such
// queries for the columns.
func isProbe(sel *pg.SelectStmt, k kind) bool {
	if n, ok := pgtree.Position(sel.LimitCount); ok && n == 0 && sel.LimitOption == pg.LimitOption_LIMIT_OPTION_COUNT {
		return true
	}
	if sel.Op > pg.SetOperation_SETOP_NONE || !isFalse(sel.WhereClause) {
		return false
	}
	byKeys := len(sel.GroupClause) > 0 && !slices.ContainsFunc(sel.GroupClause, isGroupingSet)
	return (byKeys || !pgtree.IsAggregated(sel)) && (k == rows || k == released)
}

// isFalse recognises false, 1 = 0, 1 <> 1, and AND with one of them.
func isFalse(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_AConst:
		b, ok := x.AConst.Val.(*pg.A_Const_Boolval)
		return ok && !b.Boolval.GetBoolval()
	case *pg.Node_BoolExpr:
		return x.BoolExpr.Boolop == pg.BoolExprType_AND_EXPR && slices.ContainsFunc(x.BoolExpr.Args, isFalse)
	case *pg.Node_AExpr:
		l, okL := pgtree.Position(x.AExpr.Lexpr)
		r, okR := pgtree.Position(x.AExpr.Rexpr)
		if !okL || !okR || x.AExpr.Kind != pg.A_Expr_Kind_AEXPR_OP {
			return false
		}
		switch pgtree.OperatorName(x.AExpr) {
		case "=":
			return l != r
		case "<>":
			return l == r
		}
	}
	return false
}
