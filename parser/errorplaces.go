package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// An ErrorPlace is an output column of a query that keeps the place of the error of another one, of which no formula has it. It is NULL
// unless something else is put there.
type ErrorPlace struct {
	Of      string
	FromEnd int // how many columns are behind it
}

// keptPlace writes the value of such a column: it names the one whose error it is to be.
func keptPlace(of string) string {
	return "CAST(NULLIF(" + ast.Quote(of) + ", " + ast.Quote(of) + ") AS float8)"
}

// keeps returns the name of the column for whose error a value keeps the place, and whether it keeps any.
func keeps(value *pg.Node) (of string, ok bool) {
	x := value.GetTypeCast().GetArg().GetAExpr()
	if x.GetKind() != pg.A_Expr_Kind_AEXPR_NULLIF {
		return "", false
	}
	first, second := x.Lexpr.GetAConst().GetSval(), x.Rexpr.GetAConst().GetSval()
	return first.GetSval(), first != nil && second != nil && first.Sval == second.Sval
}

// errorPlaces finds such columns of a SELECT, in whose list nothing of an unknown number of columns is behind them.
func errorPlaces(sel *pg.SelectStmt) (all []ErrorPlace) {
	for i := len(sel.TargetList) - 1; i >= 0; i-- {
		value := sel.TargetList[i].GetResTarget().GetVal()
		if pgtree.IsStar(value) {
			break
		}
		if of, ok := keeps(value); ok {
			all = append(all, ErrorPlace{of, len(sel.TargetList) - 1 - i})
		}
	}
	return all
}
