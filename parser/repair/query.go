package repair

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// collects are the aggregates that show values of rows.
var collects = []string{"array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"}

func isCollecting(n *pg.Node) bool {
	return n.GetFuncCall().GetOver() == nil && slices.Contains(collects, nameOf(n))
}

// intervals averages an interval by its seconds.
func (i *instead) intervals(sel *pg.SelectStmt) {
	out, changed := clone(sel), false
	var calls []*pg.Node
	everyNodeOf(out, func(n *pg.Node) {
		if f := n.GetFuncCall(); f != nil && (nameOf(n) == "avg" || nameOf(n) == "sum") && len(f.Args) == 1 && spot(f.Location) == i.at {
			calls = append(calls, n)
		}
	})
	for _, n := range calls {
		replaceBy(n, "make_interval(secs => "+nameOf(n)+"(extract(epoch FROM "+exprSQL(n.GetFuncCall().Args[0])+")))")
		changed = true
	}
	if changed {
		i.add("%s", selectSQL(out))
	}
}

// collected collects values that are shown as groups.
func (i *instead) collected(sel *pg.SelectStmt) {
	var columns []*pg.Node
	for _, t := range sel.TargetList {
		if val := t.GetResTarget().GetVal(); isCollecting(val) {
			columns = append(columns, columnsOf(val.GetFuncCall().Args...)...)
		}
	}
	i.ofShown(sel, columns)
}

// ofShown computes with the values of columns that are shown as groups.
func (i *instead) ofShown(sel *pg.SelectStmt, columns []*pg.Node) {
	if len(columns) == 0 {
		return
	}
	columns = columnsOf(append(slices.Clone(sel.GroupClause), columns...)...)
	var outer []string
	for _, t := range sel.TargetList {
		outer = append(outer, exprSQL(bare(t)))
	}
	keys := listSQL(columns)
	sql := "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + keys + " FROM " + fromSQL(sel.FromClause) +
		whereSQL(conditionSQL(sel.WhereClause)) + " GROUP BY " + keys + " HAVING count(*) > 0) AS shown"
	if len(sel.GroupClause) > 0 {
		sql += " GROUP BY " + groupsSQL(sel.GroupClause)
	}
	i.add("%s", sql)
}

// groupsSQL writes GROUP BY around a sub-select.
func groupsSQL(groups []*pg.Node) string {
	var out []string
	for _, g := range groups {
		out = append(out, exprSQL(bare(g)))
	}
	return strings.Join(out, ", ")
}

// subselectOf returns the first sub-select of a FROM clause.
func subselectOf(sel *pg.SelectStmt) (query *pg.SelectStmt, at *pg.RangeSubselect) {
	for _, n := range sel.FromClause {
		pgtree.Every(n, func(m *pg.Node) {
			if s := m.GetRangeSubselect(); s != nil && query == nil {
				query, at = s.Subquery.GetSelectStmt(), s
			}
		})
	}
	return query, at
}

// quantiles asks for the limits of tiles.
func (i *instead) quantiles(sel *pg.SelectStmt) {
	query, _ := subselectOf(sel)
	for k, t := range query.GetTargetList() {
		f := t.GetResTarget().GetVal().GetFuncCall()
		if f.GetOver() == nil || nameOf(t.GetResTarget().GetVal()) != "ntile" || len(f.Args) != 1 || len(f.Over.OrderClause) != 1 {
			continue
		}
		n := int(f.Args[0].GetAConst().GetIval().GetIval())
		if n < 2 || n > 100 {
			return
		}
		var fractions []string
		for j := 1; j < n; j++ {
			fractions = append(fractions, strconv.FormatFloat(float64(j)/float64(n), 'g', 4, 64))
		}
		inner := clone(query)
		inner.TargetList[k] = &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{
			Name: "value", Val: f.Over.OrderClause[0].GetSortBy().GetNode(),
		}}}
		i.add("SELECT percentile_cont(ARRAY[%s]) WITHIN GROUP (ORDER BY value) FROM (%s) AS tiled", strings.Join(fractions, ", "),
			selectSQL(inner))
	}
}

// joinedExists joins the rows that EXISTS looks for.
func (i *instead) joinedExists(sel *pg.SelectStmt) {
	table, alias := tableOf(sel.FromClause)
	if table == nil || sel.WhereClause == nil {
		return
	}
	conditions := pgtree.Conjuncts(sel.WhereClause)
	r, _ := i.cat.Relation(table.Schemaname, table.Relname)
	for k, c := range conditions {
		s := c.GetSubLink()
		query := s.GetSubselect().GetSelectStmt()
		if s.GetSubLinkType() != pg.SubLinkType_EXISTS_SUBLINK || query.GetWhereClause() == nil || !slices.Contains(r.Columns, "id") {
			continue
		}
		var rest []string
		for j, other := range conditions {
			if j != k {
				rest = append(rest, exprSQL(other))
			}
		}
		out := clone(sel)
		var counts []*pg.Node
		everyNodeOf(out, func(n *pg.Node) {
			if n.GetFuncCall().GetAggStar() && nameOf(n) == "count" {
				counts = append(counts, n)
			}
		})
		for _, n := range counts {
			replaceBy(n, "count(DISTINCT "+alias+".id)")
		}
		sql := "SELECT " + listSQL(out.TargetList) + " FROM " + fromSQL(sel.FromClause) + " JOIN " + fromSQL(query.FromClause) + " ON " +
			exprSQL(query.WhereClause) + whereSQL(rest...)
		if len(out.GroupClause) > 0 {
			sql += " GROUP BY " + listSQL(out.GroupClause)
		}
		i.add("%s", sql)
	}
}

// subselects asks for the value of a sub-select, which the client can then write as a literal, and for the values among which IN looks.
func (i *instead) subselects(sel *pg.SelectStmt) {
	for _, c := range sel.GetWithClause().GetCtes() {
		if query := c.GetCommonTableExpr().GetCtequery(); !sel.WithClause.Recursive {
			i.add("%s", deparsed(query))
		}
	}
	everyNodeOf(sel, func(n *pg.Node) {
		s := n.GetSubLink()
		query := s.GetSubselect().GetSelectStmt()
		if query == nil {
			return
		}
		if s.SubLinkType == pg.SubLinkType_EXPR_SUBLINK {
			i.add("%s", selectSQL(query))
			i.uncorrelated(query)
		}
		if s.SubLinkType == pg.SubLinkType_ANY_SUBLINK && len(query.TargetList) == 1 {
			key := listSQL(query.TargetList)
			i.add("SELECT %s, count(*) FROM %s%s GROUP BY %[1]s", key, fromSQL(query.FromClause), whereSQL(conditionSQL(query.WhereClause)))
		}
	})
}

// uncorrelated asks for the value of a sub-select in each group that the query around it can look up.
func (i *instead) uncorrelated(query *pg.SelectStmt) {
	own := map[string]bool{}
	for _, n := range query.FromClause {
		pgtree.Every(n, func(m *pg.Node) {
			if v := m.GetRangeVar(); v != nil {
				own[aliasOf(v)] = true
			}
		})
	}
	e := query.GetWhereClause().GetAExpr()
	if e == nil || pgtree.OperatorName(e) != "=" {
		return
	}
	for _, side := range []*pg.Node{e.Lexpr, e.Rexpr} {
		qualifier, _, qualified := strings.Cut(exprOfColumn(side), ".")
		if !qualified || !own[qualifier] {
			continue
		}
		group, from := exprSQL(side), fromSQL(query.FromClause)
		i.add("SELECT %s, %s FROM %s GROUP BY %s", group, listSQL(query.TargetList), from, group)
		value := copyNode(query.TargetList[0])
		value.GetResTarget().Name = "value"
		i.add("SELECT avg(value) FROM (SELECT %s, %s FROM %s GROUP BY %s) AS each", group, exprSQL(value), from, group)
	}
}

// median asks for the middle of ordered rows in the place of a few of them.
func (i *instead) median(sel *pg.SelectStmt) {
	if len(sel.SortClause) != 1 || len(sel.TargetList) != 1 || sel.LimitCount == nil || len(sel.GroupClause) > 0 {
		return
	}
	by := columnOf(sel.SortClause[0].GetSortBy().GetNode())
	if by != "" && by == columnOf(sel.TargetList[0].GetResTarget().GetVal()) {
		i.add("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY %s) FROM %s%s", listSQL(sel.TargetList), fromSQL(sel.FromClause),
			whereSQL(conditionSQL(sel.WhereClause)))
	}
}

// divided counts the units that have all of a public list. The client's query asks for units that lack none: NOT EXISTS (SELECT ... WHERE
// NOT EXISTS ...).
func (i *instead) divided(sel *pg.SelectStmt) {
	list := notExisting(sel.WhereClause)
	if list == nil {
		return
	}
	var rest []string
	var rows *pg.SelectStmt
	for _, c := range pgtree.Conjuncts(list.WhereClause) {
		if query := notExisting(c); query != nil {
			rows = query
		} else {
			rest = append(rest, exprSQL(c))
		}
	}
	_, public := tableOf(list.FromClause)
	_, alias := tableOf(rows.GetFromClause())
	keys := map[bool]string{}
	for _, c := range pgtree.Conjuncts(rows.GetWhereClause()) {
		e := c.GetAExpr()
		if e == nil || pgtree.OperatorName(e) != "=" {
			return
		}
		ours, theirs := e.Lexpr, e.Rexpr
		if of(alias, theirs) {
			ours, theirs = theirs, ours
		}
		keys[of(public, theirs)] = exprSQL(ours)
		if of(public, theirs) {
			list = clone(list)
			list.TargetList = []*pg.Node{theirs}
		}
	}
	if len(keys) != 2 {
		return
	}
	from := fromSQL(list.FromClause) + whereSQL(rest...)
	i.add("SELECT count(*) FROM (SELECT %s FROM %s WHERE %s IN (SELECT %s FROM %s) GROUP BY %[1]s "+
		"HAVING count(DISTINCT %[3]s) = (SELECT count(*) FROM %[5]s)) AS complete",
		keys[false], fromSQL(rows.FromClause), keys[true], listSQL(list.TargetList), from)
}

// notExisting returns the query of NOT EXISTS, nil for any other condition.
func notExisting(n *pg.Node) *pg.SelectStmt {
	b := n.GetBoolExpr()
	if b == nil || b.Boolop != pg.BoolExprType_NOT_EXPR || len(b.Args) != 1 {
		return nil
	}
	s := b.Args[0].GetSubLink()
	if s.GetSubLinkType() != pg.SubLinkType_EXISTS_SUBLINK {
		return nil
	}
	return s.Subselect.GetSelectStmt()
}
