package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A query that refers to the query around it is evaluated for each row of that one. It stays as it is written: package planner/source
// resolves its names, and has rules for what becomes of it.

// A queries has the level of each query of a statement.
type queries map[*pg.SelectStmt]*level

// An each knows of such queries of a level.
type each struct {
	scope *scope
	// open says that FROM is converted: a query in an expression can be joined with it.
	open bool
	// repeated says that the level is evaluated for each row of the one around it.
	repeated bool
}

// valueQuery converts such a sub-select of one value; nil if it is none, or has syntax that no rule knows.
func (e *each) valueQuery(v exprConverter, s *pg.SubLink, sel *pg.SelectStmt) ast.Expr {
	if !e.isPerRow(v, sel) {
		return nil
	}
	return &ast.ValueQuery{Query: e.perRow(v, sel, s.Location), Refusal: v.noValue(s, v.a.levels[sel]), At: v.a.pos(s.Location)}
}

// lateral converts a join with LATERAL that is evaluated for each row of the items before it; nil if it is none.
func (e *each) lateral(v *queryConverter, left ast.From, j *pg.JoinExpr) *ast.Join {
	s := j.Rarg.GetRangeSubselect()
	sel, alias := s.GetSubquery().GetSelectStmt(), s.GetAlias().GetAliasname()
	if !s.GetLateral() || alias == "" || j.IsNatural || len(j.UsingClause) > 0 || j.Alias != nil ||
		j.Jointype != pg.JoinType_JOIN_INNER && j.Jointype != pg.JoinType_JOIN_LEFT {
		return nil
	}
	location, row := selectLocation(sel), exprConverter{v, false}
	out := &ast.Join{Kind: ast.Cross, Left: left, At: v.a.pos(location)}
	if targets := laterallyOneRow(e, row, sel, location); targets != nil {
		out.Right = &ast.Row{Targets: targets, Alias: alias, Columns: columnNames(s.Alias.GetColnames()), Lateral: true, At: out.At}
		return joinedBy(v, out, j)
	}
	if !v.a.levels.perRow(sel, e.scope, v.a.cat) {
		return nil
	}
	refusal := v.refusal(location, forbidden("LATERAL", withoutNeighbours))
	right := &ast.Lateral{
		Alias: alias, Columns: columnNames(s.Alias.GetColnames()), Refusal: refusal, Untied: refusal, At: v.a.pos(location),
	}
	if level := v.a.levels[sel]; level.kind == released {
		right.Untied = correlated(level.scope.escape)
	}
	right.Query = e.perRow(row, sel, location)
	out.Right = right
	return joinedBy(v, out, j)
}

// joinedBy gives a join with LATERAL its kind and its condition.
func joinedBy(v *queryConverter, out *ast.Join, j *pg.JoinExpr) *ast.Join {
	if j.Quals != nil {
		out.Kind, out.On = ast.Inner, exprConverter{v, false}.expr(j.Quals)
	}
	if j.Jointype == pg.JoinType_JOIN_LEFT {
		out.Kind = ast.Left
	}
	return out
}

// withoutNeighbours is how to do without LATERAL.
const withoutNeighbours = "Write a sub-select that does not refer to its neighbours, and join with it ON their columns."

// isPerRow reports whether a sub-select has one column and is evaluated for each row of the level.
func (e *each) isPerRow(v exprConverter, sel *pg.SelectStmt) bool {
	return !v.grouped && e.open && len(sel.GetTargetList()) == 1 && !pgtree.IsStar(sel.TargetList[0].GetResTarget().GetVal()) &&
		v.a.levels.perRow(sel, e.scope, v.a.cat)
}

// perRow converts such a query.
func (e *each) perRow(v exprConverter, sel *pg.SelectStmt, location int32) *ast.Select {
	level := v.a.levels[sel]
	below := &queryConverter{conversion: v.conversion, level: level, depth: v.depth + 1, each: &each{scope: level.scope, repeated: true}}
	if below.depth > maxLevels {
		v.tooLarge(location)
		return nil
	}
	out := below.query(sel, location)
	if n, limited := pgtree.Position(sel.LimitCount); limited {
		skipped, _ := skippedRows(sel)
		out.Limit = &ast.Limit{Rows: n, Skipped: skipped, WithTies: sel.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES}
		out.Order = below.order(sel)
	}
	return out
}

// perRow reports whether a query is evaluated for each row of a level, as far as syntax says. One that is released is none, unless its rows
// belong to the row around: otherwise its result is a value for all rows that agree in something else.
func (q queries) perRow(sel *pg.SelectStmt, around *scope, bonds ast.Bonds) bool {
	level := q[sel]
	if level == nil || level.scope.parent.parent != around || level.scope.escape < 0 || !plainRows(sel) {
		return false
	}
	owned := true
	for _, n := range slices.Concat(sel.TargetList, []*pg.Node{sel.HavingClause}, sel.SortClause) {
		everyAggregate(n, func(n *pg.Node) { owned = owned && n.GetFuncCall() != nil && level.owns(n) })
	}
	return owned && (level.kind != released || level.tied(sel, bonds))
}

// plainRows reports whether a query has rows of FROM, or groups of them, perhaps the first of these.
func plainRows(sel *pg.SelectStmt) bool {
	n, limited := pgtree.Position(sel.LimitCount)
	skipped, known := skippedRows(sel)
	ties := sel.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES
	return sel.Op <= pg.SetOperation_SETOP_NONE && sel.WithClause == nil && len(sel.ValuesLists) == 0 && len(sel.FromClause) > 0 &&
		len(sel.LockingClause) == 0 && len(sel.WindowClause) == 0 && !pgtree.Holds(pgtree.IsWindowCall, sel.TargetList...) &&
		!pgtree.IsDistinctOn(sel) && (sel.LimitCount == nil || limited && n > 0) && known && (skipped == 0 || limited && !ties) &&
		(limited || !slices.ContainsFunc(sel.SortClause, computes))
}

// skippedRows is the number of OFFSET, 0 without; false if it is no literal.
func skippedRows(sel *pg.SelectStmt) (n int, known bool) {
	if sel.LimitOffset == nil || sel.LimitOffset.GetAConst().GetIsnull() {
		return 0, true
	}
	n, known = pgtree.Position(sel.LimitOffset)
	return n, known && n >= 0
}

// tied reports whether the rows of a query belong to the row of the query around, as equalities of columns of both say. Which SELECT is a
// block depends on it, so that it is asked before names are resolved.
func (l *level) tied(sel *pg.SelectStmt, bonds ast.Bonds) bool {
	own, outer := l.scope, l.scope.parent.parent
	var pairs [][2]ast.Origin
	for _, n := range pgtree.Conjuncts(sel.WhereClause) {
		e := n.GetAExpr()
		if e.GetKind() != pg.A_Expr_Kind_AEXPR_OP || pgtree.OperatorName(e) != "=" {
			continue
		}
		for _, side := range [][2]*pg.Node{{e.Lexpr, e.Rexpr}, {e.Rexpr, e.Lexpr}} {
			inner, around := side[0].GetColumnRef(), side[1].GetColumnRef()
			if inner == nil || around == nil || own.reach(around) != scopesBetween {
				continue
			}
			for _, x := range own.origins(side[0]) {
				for _, y := range outer.origins(side[1]) {
					pairs = append(pairs, [2]ast.Origin{x, y})
				}
			}
		}
	}
	return len(pairs) > 0 && bonds.Tied(pairs)
}

// scopesBetween is how many scopes out the query around a sub-select is, which has one of its own.
const scopesBetween = 2

// everyAggregate visits the aggregates of an expression.
func everyAggregate(n *pg.Node, visit func(*pg.Node)) {
	switch {
	case n.GetSelectStmt() != nil:
	case pgtree.IsAggregate(n):
		visit(n)
	default:
		pgtree.Children(n, func(n *pg.Node) { everyAggregate(n, visit) })
	}
}
