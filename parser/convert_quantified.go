package parser

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// quantified converts a comparison with all rows that a sub-select has for each row around it, or with any of them; nil if it is none.
func (e *each) quantified(v exprConverter, s *pg.SubLink, sel *pg.SelectStmt, operator string) ast.Expr {
	all := s.SubLinkType == pg.SubLinkType_ALL_SUBLINK
	if !all && s.SubLinkType != pg.SubLinkType_ANY_SUBLINK || operator == "" || s.Testexpr.GetRowExpr() != nil ||
		pgtree.Holds(isSubLink, s.Testexpr) || !e.isPerRow(v, sel) {
		return nil
	}
	refusal := forbidden("this sub-select", withoutIt)
	if sel.LimitCount != nil {
		refusal = forbidden("LIMIT in this sub-select", "Compare its rows with the row around by equalities of columns alone, "+
			"one of them of the columns of the privacy unit, and leave DISTINCT out.")
	}
	return &ast.Quantified{
		X: v.expr(s.Testexpr), Op: operator, All: all, Query: e.perRow(v, sel, s.Location), At: v.a.pos(s.Location),
		Refusal: v.refusal(s.Location, refusal),
	}
}

func isSubLink(n *pg.Node) bool { return n.GetSubLink() != nil }

func allTrue(list ...ast.Expr) ast.Expr {
	if len(list) == 1 {
		return list[0]
	}
	return &ast.Bool{Kind: ast.And, Args: list, At: list[0].Pos()}
}

// A condition is one that rows must meet: where it is NULL it may as well be false.
type condition struct{ exprConverter }

// where converts WHERE.
func (v condition) where(n *pg.Node) ast.Expr {
	for _, c := range pgtree.Conjuncts(n) {
		if s := c.GetSubLink(); s != nil {
			if v.wanted == nil {
				v.wanted = map[*pg.SubLink]bool{}
			}
			v.wanted[s] = true
		}
	}
	return v.expr(n)
}

// rowsLike reports whether a query has protected or public rows of as many columns as the row value before IN.
func (v condition) rowsLike(s *pg.SubLink, sel *pg.SelectStmt) bool {
	star := func(n *pg.Node) bool { return pgtree.IsStar(n.GetResTarget().GetVal()) }
	level, row := v.a.levels[sel], s.Testexpr.GetRowExpr()
	if row == nil || level == nil || level.kind == released || sel.Op > pg.SetOperation_SETOP_NONE {
		return false
	}
	if values, _ := constantRows(sel); values != nil {
		return len(values.ValuesLists[0].GetList().GetItems()) == len(row.Args)
	}
	return len(sel.FromClause) > 0 && len(sel.TargetList) == len(row.Args) && !slices.ContainsFunc(sel.TargetList, star)
}

// rowIn converts (a, b) IN (SELECT x, y ...), which must be true, to EXISTS of a row that is equal.
func (v condition) rowIn(s *pg.SubLink, sel *pg.SelectStmt) ast.Expr {
	v.queries++
	alias, at := ast.OwnPrefix+strconv.Itoa(v.queries), v.a.pos(s.Location)
	var names []string
	var equal []ast.Expr
	for i, n := range s.Testexpr.GetRowExpr().Args {
		name := alias + "$" + strconv.Itoa(i)
		names = append(names, name)
		equal = append(equal, &ast.Op{Name: "=", Left: &ast.Column{Qualifier: alias, Name: name, At: at}, Right: v.expr(n), At: at})
	}
	var from ast.From
	if values, _ := constantRows(sel); values != nil {
		from = v.listedValues(values, alias, names, s.Location)
	} else {
		from = &ast.Derived{Query: v.rows(sel, s.Location), Alias: alias, Columns: names, At: at}
	}
	return &ast.Exists{Query: &ast.Select{From: from, Where: allTrue(equal...), At: at}, At: at}
}
