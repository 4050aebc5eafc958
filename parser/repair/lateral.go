package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// flattened writes the queries that LATERAL runs for each row as sub-selects over all rows, and joins them. It writes the first rows of
// each by their numbers, and aggregates as groups.
func (i tables) flattened(sel *pg.SelectStmt) (out *pg.SelectStmt, changed bool) {
	const most = 3
	out = clone(sel)
	for range most {
		if !i.unlateral(out) {
			break
		}
		changed = true
	}
	return out, changed
}

// unlateral writes one such query.
func (i tables) unlateral(sel *pg.SelectStmt) bool {
	for k, n := range sel.FromClause {
		if j := n.GetJoinExpr(); j != nil {
			if i.unlateralJoin(sel, j) {
				return true
			}
			continue
		}
		s := n.GetRangeSubselect()
		if !s.GetLateral() || k == 0 {
			continue
		}
		j := &pg.JoinExpr{Jointype: pg.JoinType_JOIN_INNER, Larg: sel.FromClause[k-1], Rarg: n}
		if i.unlateralJoin(sel, j) {
			sel.FromClause[k-1] = &pg.Node{Node: &pg.Node_JoinExpr{JoinExpr: j}}
			sel.FromClause = slices.Delete(sel.FromClause, k, k+1)
			return true
		}
	}
	return false
}

func (i tables) unlateralJoin(sel *pg.SelectStmt, j *pg.JoinExpr) bool {
	s := j.Rarg.GetRangeSubselect()
	if !s.GetLateral() || j.Jointype != pg.JoinType_JOIN_INNER && j.Jointype != pg.JoinType_JOIN_LEFT {
		return j.Larg.GetJoinExpr() != nil && i.unlateralJoin(sel, j.Larg.GetJoinExpr())
	}
	alias := s.GetAlias().GetAliasname()
	query := clone(s.Subquery.GetSelectStmt())
	own, outer, ok := i.tie(query)
	if !ok || alias == "" || len(query.GroupClause) > 0 {
		return false
	}
	on := alias + "." + exprSQL(columnNamed(columnOf(own))) + " = " + exprSQL(outer)
	if n, limited := pgtree.Position(query.LimitCount); limited {
		on += numbered(query, own, alias, n)
	} else if query.LimitCount != nil || query.LimitOffset != nil || pgtree.IsDistinctOn(query) {
		return false
	}
	if pgtree.IsAggregated(query) { // LATERAL has a row for each outer row
		if j.Jointype == pg.JoinType_JOIN_INNER && !pgtree.IsTrue(j.Quals) {
			sel.WhereClause, j.Quals = pgtree.AllOf(sel.WhereClause, j.Quals), nil
		}
		j.Jointype = pg.JoinType_JOIN_LEFT
		query.GroupClause = []*pg.Node{own}
		zeroed(sel, query, alias)
	}
	if !slices.ContainsFunc(query.TargetList, func(t *pg.Node) bool { return columnOf(t.GetResTarget().GetVal()) == columnOf(own) }) {
		query.TargetList = slices.Insert(query.TargetList, 0, target(own))
	}
	s.Lateral = false
	s.Subquery = &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: query}}
	if quals := j.Quals; quals != nil && !pgtree.IsTrue(quals) {
		on += " AND (" + exprSQL(quals) + ")"
	}
	j.Quals = parsed(on)
	return true
}

// tie removes from a query the equality that ties it to the query around it. It returns the query's own column and the other column.
func (i tables) tie(query *pg.SelectStmt) (own, outer *pg.Node, ok bool) {
	var rest []*pg.Node
	for _, c := range pgtree.Conjuncts(query.GetWhereClause()) {
		e := c.GetAExpr()
		if e != nil && pgtree.OperatorName(e) == "=" && columnOf(e.Lexpr) != "" && columnOf(e.Rexpr) != "" && own == nil {
			left, right := i.itemOf(query, e.Lexpr) != nil, i.itemOf(query, e.Rexpr) != nil
			if left != right {
				if own, outer = e.Lexpr, e.Rexpr; right {
					own, outer = outer, own
				}
				continue
			}
		}
		rest = append(rest, c)
	}
	query.WhereClause = pgtree.AllOf(rest...)
	return own, outer, own != nil
}

// numbered removes LIMIT from a query. It writes the first row of each key with DISTINCT ON, and numbers the rows if more are asked for. It
// returns the condition that the join then needs.
func numbered(query *pg.SelectStmt, own *pg.Node, alias string, n int) string {
	sorts := query.SortClause
	query.LimitCount, query.LimitOption, query.SortClause = nil, pg.LimitOption_LIMIT_OPTION_DEFAULT, nil
	if n == 1 {
		query.DistinctClause = []*pg.Node{own}
		query.SortClause = slices.Insert(slices.Clone(sorts), 0, &pg.Node{Node: &pg.Node_SortBy{SortBy: &pg.SortBy{
			Node: own, SortbyDir: pg.SortByDir_SORTBY_DEFAULT, SortbyNulls: pg.SortByNulls_SORTBY_NULLS_DEFAULT,
		}}})
		return ""
	}
	var order []string
	sorted := clauseless()
	sorted.SortClause = sorts
	if _, by, ok := strings.Cut(selectSQL(sorted), "ORDER BY "); ok {
		order = append(order, "ORDER BY "+by)
	}
	number := target(parsed("row_number() OVER (PARTITION BY " + exprSQL(own) + " " + strings.Join(order, "") + ")"))
	number.GetResTarget().Name = "place"
	query.TargetList = append(query.TargetList, number)
	return " AND " + alias + ".place <= " + exprSQL(pg.MakeAConstIntNode(int64(n), -1))
}

// zeroed puts zero in the place of counts of no rows, which an outer join makes NULL.
func zeroed(sel, query *pg.SelectStmt, alias string) {
	for _, t := range query.TargetList {
		name, known := pgtree.OutputName(t.GetResTarget())
		if !known || nameOf(t.GetResTarget().GetVal()) != "count" {
			continue
		}
		var refs []*pg.Node
		for _, list := range [][]*pg.Node{sel.TargetList, {sel.WhereClause}, sel.GroupClause, {sel.HavingClause}, sel.SortClause} {
			for _, n := range list {
				pgtree.Every(n, func(m *pg.Node) {
					if path := columnPath(m); len(path) > 0 && path[len(path)-1] == name && (len(path) == 1 || path[len(path)-2] == alias) {
						refs = append(refs, m)
					}
				})
			}
		}
		for _, n := range refs {
			replaceBy(n, "coalesce("+exprSQL(n)+", 0)")
		}
	}
}

func target(val *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: val}}}
}
