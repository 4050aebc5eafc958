package parser

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A sub-select that looks up the row of a table by its key is an outer join with the table: it has one row or none for each row
// around it. Where a foreign key says that it always has one, the join is an inner one.
//
//	SELECT (SELECT h.region FROM hospitals h WHERE h.id = v.hospital_id), count(*) FROM visits v GROUP BY 1
//
//	SELECT h.region, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id GROUP BY 1

// A rowLookup is such a sub-select.
type rowLookup struct {
	table      *pg.RangeVar
	level      *level
	conditions []*pg.Node
	key        string // a column of the table that a condition compares with the row around
	// certain says that there is a row for each.
	certain bool
}

// lookup returns the look-up that a query is for the rows of the one around it; false if it is none.
func (q queries) lookup(sel *pg.SelectStmt, outer *scope) (l rowLookup, ok bool) {
	l.level = q[sel]
	if l.level == nil || outer == nil || !oneTable(sel) || !leavesFirst(sel) {
		return l, false
	}
	own := l.level.scope
	if own.parent == nil || own.parent.parent != outer || len(own.items) != 1 || own.items[0].of == "" {
		return l, false
	}
	if l.table = sel.FromClause[0].GetRangeVar(); len(l.table.Alias.GetColnames()) > 0 {
		return l, false
	}
	l.conditions = pgtree.Conjuncts(sel.WhereClause)
	for _, n := range l.conditions {
		t, tied := q.tieOf(n, own)
		if !tied || t.inner.GetColumnRef() == nil {
			continue
		}
		_, inner, found := own.own(t.inner.GetColumnRef())
		if !found || !inner.unique || l.key != "" {
			continue
		}
		l.key = inner.name
		if ref := t.outer.GetColumnRef(); ref != nil && len(l.conditions) == 1 {
			_, c, known := outer.own(ref)
			l.certain = known && c.parent == own.items[0].of+"."+inner.name
		}
	}
	foreign := func(n *pg.Node) bool {
		return pgtree.Holds(isSubLink, n) || q.reach(own, n)&^(only(here)|only(around)) != 0
	}
	return l, l.key != "" && !slices.ContainsFunc(slices.Concat(l.conditions, sel.TargetList), foreign)
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

// lookedUp converts a sub-select of one value that looks up a row; nil if it is none.
func (e *each) lookedUp(v exprConverter, s *pg.SubLink, sel *pg.SelectStmt) ast.Expr {
	if v.grouped || !e.open || len(sel.GetTargetList()) != 1 || pgtree.IsStar(sel.TargetList[0].GetResTarget().GetVal()) {
		return nil
	}
	l, ok := v.a.levels.lookup(sel, e.scope)
	if !ok {
		return nil
	}
	row := e.rowOf(v, s, l)
	target := sel.TargetList[0].GetResTarget().GetVal()
	value := row.expr(target)
	if target.GetColumnRef() != nil && v.a.levels.reach(l.level.scope, target) == only(here) {
		return value // NULL without a row, as all its columns
	}
	return &ast.Case{Whens: []ast.When{{If: row.each.hasRow(l.key, value.Pos()), Then: value}}, At: value.Pos()}
}

// found converts EXISTS that looks up a row of a public table by more than equalities with the row around it; nil if it is none. With
// equalities alone it is a semijoin.
func (e *each) found(v exprConverter, s *pg.SubLink, sel *pg.SelectStmt) ast.Expr {
	if v.grouped || !e.open {
		return nil
	}
	l, ok := v.a.levels.lookup(sel, e.scope)
	if !ok || l.level.scope.items[0].table {
		return nil
	}
	compared := func(n *pg.Node) bool {
		_, tied := v.a.levels.tieOf(n, l.level.scope)
		return !tied && v.a.levels.reach(l.level.scope, n)&only(around) != 0
	}
	plain := func(n *pg.Node) bool {
		val := n.GetResTarget().GetVal()
		return pgtree.IsStar(val) || val.GetAConst() != nil
	}
	if !slices.ContainsFunc(l.conditions, compared) || slices.ContainsFunc(sel.TargetList, func(n *pg.Node) bool { return !plain(n) }) {
		return nil
	}
	return e.rowOf(v, s, l).each.hasRow(l.key, v.a.pos(s.Location))
}

// A lookedRow says how the columns of a row that is looked up are called around it.
type lookedRow struct {
	alias  string
	around exprConverter // of all other columns
}

// rowOf joins the table, once for all values of the same row, and returns the converter of expressions over it.
func (e *each) rowOf(v exprConverter, s *pg.SubLink, l rowLookup) exprConverter {
	key, _, _ := pgtree.Canonical(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		FromClause: []*pg.Node{{Node: &pg.Node_RangeVar{RangeVar: l.table}}}, WhereClause: pgtree.AllOf(l.conditions...),
	}}})
	alias, known := e.rows[string(key)]
	if !known {
		v.queries++
		alias = ast.OwnPrefix + strconv.Itoa(v.queries)
		if e.rows == nil {
			e.rows = map[string]string{}
		}
		e.rows[string(key)] = alias
	}
	looked := &each{scope: l.level.scope, row: &lookedRow{alias, v}}
	row := exprConverter{&queryConverter{conversion: v.conversion, level: l.level, depth: v.depth, each: looked}, false}
	if known {
		return row
	}
	if v.a.tables++; v.a.tables > maxTables {
		v.tooLarge(s.Location)
		return row
	}
	t := &ast.Table{Ref: v.tableRef(l.table), Alias: alias, Only: !l.table.Inh}
	for _, c := range l.level.scope.items[0].columns {
		t.Columns = append(t.Columns, looked.row.field(c.name))
	}
	e.joins = append(e.joins, &ast.Join{Kind: ast.Left, Right: t, On: allTrue(row.exprs(l.conditions)...), At: v.a.pos(s.Location)})
	if l.certain {
		e.certain = append(e.certain, e.joins[len(e.joins)-1])
	}
	return row
}

func (r *lookedRow) field(name string) string { return r.alias + "$" + name }

// column converts a column in a look-up: one of its row, or one around.
func (r *lookedRow) column(of *each, ref *pg.ColumnRef, at int) ast.Expr {
	it, c, ok := of.scope.own(ref)
	if !ok || of.scope.items[it].column(c.name) < 0 {
		return r.around.column(ref)
	}
	return &ast.Column{Qualifier: r.alias, Name: r.field(c.name), At: at}
}

// hasRow is the condition that there is a row.
func (e *each) hasRow(key string, at int) ast.Expr {
	return &ast.IsNull{X: &ast.Column{Qualifier: e.row.alias, Name: e.row.field(key), At: at}, Not: true, At: at}
}

// keepsMatches makes the joins inner ones that have a row for each: where no outer join leaves the columns that they compare NULL.
func (e *each) keepsMatches(from ast.From) {
	if extends(from) {
		return
	}
	for _, j := range e.certain {
		j.Kind = ast.Inner
	}
}

// extends reports whether an item of FROM has an outer join.
func extends(from ast.From) bool {
	j, ok := from.(*ast.Join)
	return ok && (j.Kind != ast.Inner && j.Kind != ast.Cross || extends(j.Left) || extends(j.Right))
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
