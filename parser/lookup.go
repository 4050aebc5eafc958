package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// valueQuery converts a sub-select of one value of a row of one table, for each row around it. It may look up a row by its key, which
// package planner/source knows. It is nil if there is anything else in the query.
func (e *each) valueQuery(v exprConverter, s *pg.SubLink, sel *pg.SelectStmt) ast.Expr {
	if v.grouped || !e.open || !v.a.levels.ofTable(sel) || v.a.levels[sel].scope.parent.escape < 0 || len(sel.TargetList) != 1 ||
		pgtree.IsStar(sel.TargetList[0].GetResTarget().GetVal()) {
		return nil
	}
	return e.perRow(v, s, sel)
}

// perRow converts a sub-select of one value. Package planner/source says what becomes of it.
func (e *each) perRow(v exprConverter, s *pg.SubLink, sel *pg.SelectStmt) ast.Expr {
	level := v.a.levels[sel]
	below := &queryConverter{conversion: v.conversion, level: level, depth: v.depth + 1, each: &each{scope: level.scope, around: &v}}
	if below.depth > maxLevels {
		v.tooLarge(s.Location)
		return nil
	}
	return &ast.ValueQuery{Query: below.query(sel, s.Location), Refusal: v.noValue(s, level), At: v.a.pos(s.Location)}
}

// ofTable reports whether a query has rows of one table as they are, with no query in it.
func (q queries) ofTable(sel *pg.SelectStmt) bool {
	return q[sel] != nil && oneTable(sel) && leavesFirst(sel) && q[sel].scope.items[0].of != "" &&
		len(sel.FromClause[0].GetRangeVar().Alias.GetColnames()) == 0 &&
		!pgtree.Holds(isSubLink, append(slices.Clip(sel.TargetList), sel.WhereClause)...)
}

// byKey reports whether a query of one table is tied to the query around it by a column that tells its rows.
func (q queries) byKey(sel *pg.SelectStmt, c correlation) bool {
	return q.ofTable(sel) && slices.ContainsFunc(c.ties, func(t tie) bool {
		_, column, ok := c.own.own(t.inner.GetColumnRef())
		return ok && column.unique
	})
}

// oneTable reports whether a query has rows of one table as they are, of which conditions say which.
func oneTable(sel *pg.SelectStmt) bool {
	return sel.Op <= pg.SetOperation_SETOP_NONE && sel.WithClause == nil && len(sel.ValuesLists) == 0 && len(sel.LockingClause) == 0 &&
		len(sel.WindowClause) == 0 && len(sel.DistinctClause) == 0 && len(sel.FromClause) == 1 && sel.FromClause[0].GetRangeVar() != nil &&
		!pgtree.IsAggregated(sel) && !pgtree.Holds(pgtree.IsWindowCall, sel.TargetList...) && !slices.ContainsFunc(sel.SortClause, computes)
}

// leavesFirst reports whether LIMIT and OFFSET leave a row if there is one.
func leavesFirst(sel *pg.SelectStmt) bool {
	n, limited := pgtree.Position(sel.LimitCount)
	skipped, known := skippedRows(sel)
	return known && skipped == 0 && (sel.LimitCount == nil || limited && n > 0)
}

// skippedRows is the number of OFFSET, 0 without; false if it is no literal.
func skippedRows(sel *pg.SelectStmt) (n int, known bool) {
	if sel.LimitOffset == nil || sel.LimitOffset.GetAConst().GetIsnull() {
		return 0, true
	}
	n, known = pgtree.Position(sel.LimitOffset)
	return n, known && n >= 0
}

// A sources knows the queries in FROM by their rows.
type sources struct{ *analysis }

// oneRow reports whether a query reads one row at most of a sub-select, or of a WITH query, for each row around it: it is tied by an
// expression that has one row there for each value.
func (a sources) oneRow(sel *pg.SelectStmt, c correlation) bool {
	if pgtree.IsAggregated(sel) || len(sel.FromClause) != 1 {
		return false
	}
	source := a.sourceOf(sel.FromClause[0])
	each := a.rowForEach(source)
	if each == nil {
		return false
	}
	own, _, _ := pgtree.Canonical(each)
	return slices.ContainsFunc(source.TargetList, func(n *pg.Node) bool {
		name, known := pgtree.OutputName(n.GetResTarget())
		key, _, _ := pgtree.Canonical(n.GetResTarget().GetVal())
		return known && slices.Equal(key, own) && slices.ContainsFunc(c.ties, func(t tie) bool {
			_, column, ok := c.own.own(t.inner.GetColumnRef())
			return ok && column.name == name
		})
	})
}

// sourceOf is the query of an item of FROM whose columns have the names that it gives them; nil of others.
func (a sources) sourceOf(item *pg.Node) *pg.SelectStmt {
	if s := item.GetRangeSubselect(); s != nil && len(s.Alias.GetColnames()) == 0 {
		return s.Subquery.GetSelectStmt()
	}
	r := item.GetRangeVar()
	c := a.cteRefs[r]
	if r == nil || c == nil || len(c.node.Aliascolnames)+len(r.Alias.GetColnames()) > 0 || c.selfRead {
		return nil
	}
	return c.node.Ctequery.GetSelectStmt()
}

// rowForEach is the expression of which a query has a row for each value: that of GROUP BY, or of DISTINCT ON; nil if there is none.
func (a sources) rowForEach(sel *pg.SelectStmt) *pg.Node {
	level := a.levels[sel]
	if level == nil || sel.Op > pg.SetOperation_SETOP_NONE || slices.ContainsFunc(sel.GroupClause, isGroupingSet) {
		return nil
	}
	if pgtree.IsDistinctOn(sel) && len(sel.DistinctClause) == 1 && !pgtree.IsAggregated(sel) {
		return sel.DistinctClause[0]
	}
	if g, err := (groupClause{a.analysis, sel, level.scope}).grouping(); err == nil && len(sel.GroupClause) == 1 && len(g.exprs) == 1 {
		return g.exprs[0]
	}
	return nil
}
