package parser

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A comparison with all rows of the unit of each row, or with any of them, is one with the least or the greatest of them, where
// there are rows; with a NULL among them it is NULL where they do not decide it.
//
//	cost >= ALL (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id)
//
//	CASE WHEN x.n IS NULL THEN true ELSE cost >= x.greatest AND CASE WHEN x.n = x.valued THEN true END END

// extremes are the aggregates with which a comparison with all values compares.
var extremes = map[string][]string{"<": {"min"}, "<=": {"min"}, ">": {"max"}, ">=": {"max"}, "=": {"min", "max"}}

// opposites are the comparisons that are true where others are false.
var opposites = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<", "<>": "="}

// quantified converts a comparison with all rows that a sub-select has for each row around it, or with any of them; nil if it is none.
func (e *each) quantified(v exprConverter, s *pg.SubLink, sel *pg.SelectStmt, operator string) ast.Expr {
	if s.SubLinkType == pg.SubLinkType_ALL_SUBLINK {
		return e.all(v, s, sel, operator)
	}
	// It is true of any if the opposite is not true of all.
	opposite, ok := opposites[operator]
	if !ok || s.SubLinkType != pg.SubLinkType_ANY_SUBLINK {
		return nil
	}
	x := e.all(v, s, sel, opposite)
	if x == nil {
		return nil
	}
	return &ast.Bool{Kind: ast.Not, Args: []ast.Expr{x}, At: v.a.pos(s.Location)}
}

// all converts a comparison with all rows. The left side is written once for each extreme, so that it has no sub-select.
func (e *each) all(v exprConverter, s *pg.SubLink, sel *pg.SelectStmt, operator string) ast.Expr {
	names := extremes[operator]
	if v.grouped || !e.open || names == nil || s.Testexpr.GetRowExpr() != nil || pgtree.Holds(isSubLink, s.Testexpr) ||
		len(sel.GetTargetList()) != 1 || pgtree.IsStar(sel.TargetList[0].GetResTarget().GetVal()) ||
		pgtree.IsAggregated(sel) || sel.LimitCount != nil {
		return nil
	}
	c, ok := v.a.levels.correlation(sel, e.scope)
	if !ok || !v.a.levels.ownRows(sel, c.own) {
		return nil
	}
	q := joinQuery(v, sel, c, s.Location)
	q.grouping(sel)
	value := func() ast.Expr {
		return exprConverter{q.queryConverter, false}.expr(sel.TargetList[0].GetResTarget().GetVal())
	}
	count, valued := len(q.ties), len(q.ties)+1
	q.add(count, &ast.Aggregate{Func: "count", Star: true, At: q.at}, &ast.Aggregate{Func: "count", Args: []ast.Expr{value()}, At: q.at})
	var parts []ast.Expr
	for i, name := range names {
		q.add(valued+1+i, &ast.Aggregate{Func: name, Args: []ast.Expr{value()}, At: q.at})
		parts = append(parts, &ast.Op{Name: operator, Left: v.expr(s.Testexpr), Right: q.column(q.name, valued+1+i), At: q.at})
	}
	q.out.From = q.each.joined(q.out.From)
	e.joins = append(e.joins, &ast.Join{Kind: ast.Left, Right: q.item(q.name, nil), On: allTrue(q.conditions(q.name)...), At: q.at})
	yes := func() ast.Expr { return &ast.Const{Kind: ast.Boolean, Text: "true", At: q.at} }
	noNull := &ast.Op{Name: "=", Left: q.column(q.name, count), Right: q.column(q.name, valued), At: q.at}
	parts = append(parts, &ast.Case{Whens: []ast.When{{If: noNull, Then: yes()}}, At: q.at})
	none := &ast.IsNull{X: q.column(q.name, count), At: q.at}
	return &ast.Case{Whens: []ast.When{{If: none, Then: yes()}}, Else: allTrue(parts...), At: q.at}
}

// notIn reports whether NOT IN of a sub-select is the opposite of IN, which looks for a NULL among the rows of the unit of each row:
// units are never NULL.
func (e *each) notIn(v exprConverter, s *pg.SubLink) bool {
	sel := s.GetSubselect().GetSelectStmt()
	if sel == nil || e.scope.isUnit(s.Testexpr) || v.a.levels[sel] == nil || v.a.levels[sel].kind != rows {
		return false
	}
	c, ok := v.a.levels.correlation(sel, e.scope)
	return ok && !c.keyed
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

// rowsLike reports whether a query has protected rows of as many columns as the row value before IN.
func (v condition) rowsLike(s *pg.SubLink, sel *pg.SelectStmt) bool {
	star := func(n *pg.Node) bool { return pgtree.IsStar(n.GetResTarget().GetVal()) }
	level, row := v.a.levels[sel], s.Testexpr.GetRowExpr()
	return row != nil && level != nil && level.kind == rows && sel.Op <= pg.SetOperation_SETOP_NONE &&
		len(sel.TargetList) == len(row.Args) && !slices.ContainsFunc(sel.TargetList, star)
}

// rowIn converts (a, b) IN (SELECT x, y ...), which must be true, to EXISTS of a row that is equal.
func (v condition) rowIn(s *pg.SubLink, sel *pg.SelectStmt) ast.Expr {
	v.queries++
	alias, at := ast.OwnPrefix+strconv.Itoa(v.queries), v.a.pos(s.Location)
	from := &ast.Derived{Query: v.rows(sel, s.Location), Alias: alias, At: at}
	var equal []ast.Expr
	for i, n := range s.Testexpr.GetRowExpr().Args {
		name := alias + "$" + strconv.Itoa(i)
		from.Columns = append(from.Columns, name)
		equal = append(equal, &ast.Op{Name: "=", Left: &ast.Column{Qualifier: alias, Name: name, At: at}, Right: v.expr(n), At: at})
	}
	return &ast.Exists{Query: &ast.Select{From: from, Where: allTrue(equal...), At: at}, At: at}
}
