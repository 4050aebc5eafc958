package repair

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// perUnit averages the values that are asked for each privacy unit.
func (i *instead) perUnit(sel *pg.SelectStmt) {
	units, keys := i.unitOf(sel.FromClause), i.keys(sel)
	if !slices.ContainsFunc(keys, func(n *pg.Node) bool { return units[columnOf(n)] }) {
		if keys = distinctKeys(sel); !slices.ContainsFunc(keys, func(n *pg.Node) bool { return units[columnOf(n)] }) {
			return
		}
	}
	values := valuesOf(sel)
	inner := listSQL(append(slices.Clone(keys), values...))
	sql := "SELECT " + inner + " FROM " + fromSQL(sel.FromClause) + whereSQL(conditionSQL(sel.WhereClause)) + " GROUP BY " + listSQL(keys)
	if sel.HavingClause != nil {
		sql += " HAVING " + exprSQL(sel.HavingClause)
	}
	outer := []string{"count(*)"}
	for _, v := range values {
		outer = append(outer, "avg("+exprSQL(columnNamed(v.GetResTarget().Name))+")")
	}
	if len(values) > 0 && sel.HavingClause == nil {
		outer = outer[1:]
	}
	i.add("SELECT %s FROM (%s) AS each", strings.Join(outer, ", "), sql)
	for _, one := range outer { // some of the values may have no average
		if len(outer) > 1 {
			i.add("SELECT %s FROM (%s) AS each", one, sql)
		}
	}
	if len(values) > 0 {
		i.add("SELECT count(*) FROM (%s) AS each", sql)
	}
}

// distinctKeys returns the columns of SELECT DISTINCT.
func distinctKeys(sel *pg.SelectStmt) (keys []*pg.Node) {
	if !pgtree.IsDistinct(sel) {
		return nil
	}
	for _, t := range sel.TargetList {
		if val := t.GetResTarget().GetVal(); columnOf(val) != "" {
			keys = append(keys, val)
		}
	}
	return keys
}

// valuesOf returns the items of a SELECT list that are aggregates, or computed from aggregates, with names of their own. For a window
// function over groups, it returns the value that orders the groups.
func valuesOf(sel *pg.SelectStmt) (values []*pg.Node) {
	for _, t := range sel.TargetList {
		val := t.GetResTarget().GetVal()
		if f := val.GetFuncCall(); f.GetOver() != nil && len(f.Over.OrderClause) > 0 {
			val = f.Over.OrderClause[0].GetSortBy().GetNode()
		}
		asked := func(n *pg.Node) bool { return exprSQL(n.GetResTarget().Val) == exprSQL(val) }
		if !pgtree.Holds(pgtree.IsAggregate, val) || slices.ContainsFunc(values, asked) {
			continue
		}
		name := t.GetResTarget().GetName()
		if name == "" {
			name = nameOf(val)
		}
		if name == "" || slices.ContainsFunc(values, func(n *pg.Node) bool { return n.GetResTarget().Name == name }) {
			name = "value" + strconv.Itoa(len(values)+1)
		}
		values = append(values, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Name: name, Val: val}}})
	}
	return values
}

func columnNamed(name string) *pg.Node {
	return pg.MakeColumnRefNode([]*pg.Node{pg.MakeStrNode(name)}, -1)
}

// windows groups by the columns that partition or order a window function over rows.
func (i *instead) windows(sel *pg.SelectStmt) {
	if len(sel.GroupClause) > 0 || pgtree.IsAggregated(sel) || len(sel.FromClause) == 0 {
		return
	}
	for _, t := range sel.TargetList {
		val := t.GetResTarget().GetVal()
		f := val.GetFuncCall()
		if f.GetOver() == nil || f.Over.Name != "" || !pgtree.IsAggregateName(nameOf(val)) {
			continue
		}
		out := clone(sel)
		out.SortClause, out.LimitCount, out.LimitOffset, out.DistinctClause = nil, nil, nil, nil
		out.LimitOption = pg.LimitOption_LIMIT_OPTION_DEFAULT
		keys := slices.Clone(f.Over.PartitionClause)
		call := copyNode(val)
		over := call.GetFuncCall().Over
		call.GetFuncCall().Over = nil
		if order := over.OrderClause; len(order) > 0 { // a running total is a total of the groups' totals
			if nameOf(val) != "count" && nameOf(val) != "sum" {
				continue
			}
			for _, s := range order {
				keys = append(keys, s.GetSortBy().Node)
			}
			running := pg.MakeFuncCallNode([]*pg.Node{pg.MakeStrNode("sum")}, []*pg.Node{call}, -1)
			running.GetFuncCall().Over = over
			call = running
		}
		out.TargetList, out.GroupClause = nil, nil
		for _, k := range keys {
			out.TargetList = append(out.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: copyNode(k)}}})
			out.GroupClause = append(out.GroupClause, copyNode(k))
		}
		out.TargetList = append(out.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{
			Name: t.GetResTarget().Name, Val: call,
		}}})
		i.add("%s", selectSQL(out))
		i.perUnit(out)
	}
}
