package parser

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// top returns which groups of a block are shown, if ORDER BY an aggregate DESC LIMIT k alone decides it, and each group is
// one row. It is nil of any other block: that has all groups, and Postgres sorts and cuts them.
func (v *queryConverter) top(c *candidate, m *matcher) *ast.Top {
	sel := c.sel
	if len(m.groupNodes) == 0 || m.sets != nil || c.groups.distinct || sel.HavingClause != nil || len(sel.DistinctClause) > 0 ||
		len(sel.WindowClause) > 0 || len(sel.LockingClause) > 0 || len(sel.SortClause) == 0 {
		return nil
	}
	limit := v.limit(sel)
	by := sel.SortClause[0].GetSortBy()
	if limit == nil || by.GetSortbyDir() != pg.SortByDir_SORTBY_DESC || m.multiplies(sel) {
		return nil
	}
	aggregate, ok := m.columnOf("a", sortedBy(sel, by.Node))
	if !ok {
		return nil
	}
	for _, n := range sel.SortClause[1:] {
		next := n.GetSortBy()
		if _, key := m.columnOf("g", sortedBy(sel, next.GetNode())); !key || next.SortbyDir == pg.SortByDir_SORTBY_USING {
			return nil
		}
	}
	return &ast.Top{Aggregate: aggregate, Limit: limit}
}

// limit converts LIMIT k of a whole number or a parameter, nil of any other.
func (v *queryConverter) limit(sel *pg.SelectStmt) ast.Expr {
	if sel.LimitOffset != nil || sel.LimitOption != pg.LimitOption_LIMIT_OPTION_COUNT {
		return nil
	}
	n := sel.LimitCount
	if cast := n.GetTypeCast(); cast != nil && cast.Arg.GetParamRef() != nil {
		n = cast.Arg
	}
	_, whole := pgtree.Position(n)
	if !whole && n.GetParamRef().GetNumber() == 0 {
		return nil
	}
	return exprConverter{v, false}.expr(sel.LimitCount)
}

// sortedBy returns the expression that an item of ORDER BY names or is.
func sortedBy(sel *pg.SelectStmt, n *pg.Node) *pg.Node {
	if i, ok := pgtree.Position(n); ok && i >= 1 && i <= len(sel.TargetList) {
		return sel.TargetList[i-1].GetResTarget().GetVal()
	}
	if name, bare := pgtree.ColumnName(n); bare {
		if t := pgtree.TargetNamed(sel, name); t != nil {
			return t.Val
		}
	}
	return n
}

// columnOf returns the place of the column of a kind, a for aggregates and g for keys, that an expression is.
func (m *matcher) columnOf(kind string, n *pg.Node) (int, bool) {
	at := slices.IndexFunc(m.found, func(o occurrence) bool { return o.node == n })
	if at < 0 {
		return 0, false
	}
	number, ok := strings.CutPrefix(m.found[at].column, kind)
	i, err := strconv.Atoi(number)
	return i - 1, ok && err == nil
}

// multiplies reports whether the targets may make other than one row of each group: by a function that can
// return a set, or by a window. Functions are told by name.
func (m *matcher) multiplies(sel *pg.SelectStmt) bool {
	found := false
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		if found || slices.ContainsFunc(m.found, func(o occurrence) bool { return o.node == n }) {
			return
		}
		if f := n.GetFuncCall(); f != nil {
			schema, name := pgtree.Callee(f)
			if schema != "" && schema != "pg_catalog" || f.Over != nil || !slices.Contains(oneRowCalls, name) {
				found = true
				return
			}
		}
		if enter := opaque(n); enter != nil {
			enter(visit)
			return
		}
		pgtree.Children(n, visit)
	}
	for _, t := range slices.Concat(sel.TargetList, sel.SortClause) {
		visit(t)
	}
	return found
}

// oneRowCalls are functions that the targets of reports use, which return one value.
var oneRowCalls = []string{
	"abs", "ceil", "ceiling", "concat", "date_trunc", "floor", "format", "initcap", "lower", "round", "to_char", "trunc", "upper",
}
