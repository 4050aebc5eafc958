package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// Before there was percentile_disc, distributions were computed from numbered rows, or from groups whose counts are added up in their
// order. Libraries of analyses have both shapes still.

// usualFractions are asked for where a statement names none.
var usualFractions = []string{"0.1", "0.25", "0.5", "0.75", "0.9"}

// distribution asks for the percentiles of a value that all rows are numbered by:
//
//	SELECT min(CASE WHEN r < .5 * n THEN 9999 ELSE x END) FROM (SELECT x, row_number() OVER (ORDER BY x) AS r FROM t) q
//	SELECT percentile_disc(ARRAY[.5]) WITHIN GROUP (ORDER BY x) AS percentiles, avg(x) FROM t
//
// It applies to row_number, rank and dense_rank, to percent_rank and cume_dist, and to running totals of counts, over rows or over groups
// by the value. The fractions are the constants between 0 and 1 with which the statement multiplies or compares. PARTITION BY becomes
// GROUP BY. All that is done with the numbers is lost.
func distribution(r *refused) {
	fractions := fractionsOf(r.SelectStmt)
	for _, level := range selectsOf(r.SelectStmt) {
		q := r.located(level)
		if q == nil || !q.has(from) || level.Op != pg.SetOperation_SETOP_NONE {
			continue
		}
		for _, t := range level.TargetList {
			over := valueOf(t).GetFuncCall().GetOver()
			if over == nil || !numbers(level, valueOf(t)) || len(over.OrderClause) != 1 {
				continue
			}
			x, keys := over.OrderClause[0].GetSortBy().GetNode(), r.list(over.PartitionClause...)
			units := r.unitOf(level.FromClause)
			isUnit := func(n *pg.Node) bool { return units[columnOf(n)] }
			if pgtree.Holds(pgtree.IsAggregate, x) || isUnit(x) || slices.ContainsFunc(over.PartitionClause, isUnit) {
				continue
			}
			value, d := r.text(x), q.with(from, where)
			list := "percentile_disc(ARRAY[" + strings.Join(fractions, ", ") + "]) WITHIN GROUP (ORDER BY " + value + ") AS percentiles, "
			list += "avg(" + value + ")"
			d.set(targets, strings.TrimPrefix(keys+", ", ", ")+list)
			if keys != "" {
				d.set(groups, keys)
			}
			r.ask(d.String())
		}
	}
}

// numbers reports whether a window function numbers rows or groups in an order.
func numbers(level *pg.SelectStmt, n *pg.Node) bool {
	switch name := nameOf(n); name {
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
		return true
	case "sum", "count":
		return len(level.GroupClause) > 0
	}
	return false
}

// selectsOf lists the SELECTs of a statement, the innermost last.
func selectsOf(sel *pg.SelectStmt) (all []*pg.SelectStmt) {
	for _, n := range nodesOf(sel, func(n *pg.Node) bool { return n.GetSelectStmt() != nil }) {
		all = append(all, n.GetSelectStmt())
	}
	return all
}

// fractionsOf are the texts of constants between 0 and 1 that are multiplied or compared, in their order.
func fractionsOf(sel *pg.SelectStmt) (all []string) {
	operators := []string{"*", "<", "<=", ">", ">=", "="}
	for _, n := range nodesOf(sel, func(n *pg.Node) bool {
		return n.GetAExpr() != nil && slices.Contains(operators, pgtree.OperatorName(n.GetAExpr()))
	}) {
		for _, side := range []*pg.Node{n.GetAExpr().Lexpr, n.GetAExpr().Rexpr} {
			text := strings.TrimLeft(side.GetAConst().GetFval().GetFval(), "0")
			if strings.HasPrefix(text, ".") && strings.Trim(text, ".0") != "" && !strings.ContainsAny(text, "eE") {
				all = append(all, "0"+text)
			}
		}
	}
	if len(all) == 0 {
		return usualFractions
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// groupsToDistinct counts different values in place of groups:
//
//	SELECT count(*) FROM (SELECT k FROM t WHERE c GROUP BY k HAVING count(*) < 3) q
//	SELECT count(DISTINCT k) FROM t WHERE c
//
// It applies to groups by one column that are counted in whole. HAVING is lost.
func groupsToDistinct(r *refused) {
	counts := slices.ContainsFunc(r.TargetList, func(t *pg.Node) bool { return isCount(valueOf(t)) })
	if len(r.GroupClause) > 0 || r.WhereClause != nil || !counts {
		return
	}
	q := r.located(subselectOf(r.SelectStmt).GetSubquery().GetSelectStmt())
	if q == nil || q.WithClause != nil {
		return
	}
	if keys := r.keys(q.SelectStmt); len(keys) == 1 && len(q.GroupClause) == 1 {
		d := q.with(from, where)
		d.set(targets, "count(DISTINCT "+r.text(keys[0])+")")
		r.ask(d.String())
	}
}
