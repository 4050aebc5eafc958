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

// collectGroups collects values that are shown as groups:
//
//	SELECT string_agg(x, ',') FROM t
//	SELECT string_agg(x, ',') FROM (SELECT x FROM t GROUP BY x HAVING count(*) > 0) AS shown
//
// It applies to string_agg, array_agg and the aggregates of JSON. Each value is collected once.
func collectGroups(r *refused) {
	var columns []*pg.Node
	for _, t := range r.TargetList {
		if isCollecting(valueOf(t)) {
			columns = append(columns, columnsOf(valueOf(t).GetFuncCall().Args...)...)
		}
	}
	r.ofShown(columns)
}

// extremesOfGroups takes the first and the last text of those that are shown as groups:
//
//	SELECT min(x), max(x) FROM t
//	SELECT min(x), max(x) FROM (SELECT x FROM t GROUP BY x HAVING count(*) > 0) AS shown
//
// It applies if there is no other aggregate. Rare values are lost.
func extremesOfGroups(r *refused) {
	var columns []*pg.Node
	refusal := false
	for _, t := range r.TargetList {
		val := valueOf(t)
		f := val.GetFuncCall()
		switch name := nameOf(val); {
		case (name == "min" || name == "max") && f.Over == nil && f.AggFilter == nil && len(f.Args) == 1:
			refusal = refusal || r.at.is(val)
			columns = append(columns, columnsOf(f.Args...)...)
		case pgtree.Holds(pgtree.IsAggregate, val):
			return
		}
	}
	if refusal {
		r.ofShown(columns)
	}
}

// ofShown computes with the values of columns that are shown as groups.
func (r *refused) ofShown(columns []*pg.Node) {
	if len(columns) == 0 {
		return
	}
	keys := r.list(columnsOf(append(slices.Clone(r.GroupClause), columns...)...)...)
	shown, d := r.with(from, where), r.with(groups)
	shown.set(targets, keys)
	shown.set(groups, keys)
	shown.set(having, "count(*) > 0")
	d.edits = append(d.edits, r.qualified("", append(slices.Clone(r.TargetList), r.GroupClause...)...)...)
	d.set(from, "("+shown.String()+") AS shown")
	r.ask(d.String())
}

// groupsBelow groups by columns, and computes with the released groups:
//
//	SELECT f(x), count(*) FROM t WHERE g(x) GROUP BY 1
//	SELECT f(x), sum(n) FROM (SELECT x, count(*) AS n FROM t GROUP BY x) AS t WHERE g(x) GROUP BY 1
//
// It applies to one count or sum over one table. The sum has the noise of all its groups. The client's order is lost.
func groupsBelow(r *refused) {
	const most = 3 // columns, by which there may be as many groups as rows
	table, alias := tableOf(r.FromClause)
	if table == nil || r.HavingClause != nil || len(nodesOf(r.SelectStmt, isSubLink)) > 0 {
		return
	}
	var shown, calls []*pg.Node
	for _, t := range r.TargetList {
		val := valueOf(t)
		if f := val.GetFuncCall(); (nameOf(val) == "count" || nameOf(val) == "sum") && f.Over == nil && !f.AggDistinct {
			calls = append(calls, val)
		} else {
			shown = append(shown, t)
		}
	}
	columns := columnsOf(append(slices.Clip(shown), r.WhereClause)...)
	if len(calls) != 1 || pgtree.Holds(pgtree.IsAggregate, shown...) || len(columns) == 0 || len(columns) > most {
		return
	}
	below, d, total := r.with(from), r.with(where, groups), "sum(n)"
	below.set(targets, r.list(columns...)+", "+r.text(calls[0])+" AS n")
	below.set(groups, r.list(columns...))
	if nameOf(calls[0]) == "count" && len(r.GroupClause) == 0 {
		total = "coalesce(sum(n), 0)"
	}
	d.replace(calls[0], total)
	d.set(from, "("+below.String()+") AS "+ident(alias))
	r.ask(d.String())
}

// unitsToAverage averages the values of each privacy unit, or counts the units:
//
//	SELECT unit, sum(x) FROM t GROUP BY unit
//	SELECT avg(sum) FROM (SELECT unit, sum(x) AS sum FROM t GROUP BY unit) AS each
//
// It applies if the unit is a group, or a column of SELECT DISTINCT. Since some of the values may have no average, each is tried alone too.
// The values of units, their order and LIMIT are lost.
func unitsToAverage(r *refused) {
	units := r.unitOf(r.FromClause)
	isUnit := func(n *pg.Node) bool { return units[columnOf(n)] }
	keys := r.keys(r.SelectStmt)
	if !slices.ContainsFunc(keys, isUnit) {
		if keys = distinctKeys(r.SelectStmt); !slices.ContainsFunc(keys, isUnit) {
			return
		}
	}
	each, values := r.with(from, where, having), r.values()
	list, outer := []string{r.list(keys...)}, []string{"count(*)"}
	for _, v := range values {
		list = append(list, r.text(v.val)+" AS "+ident(v.name))
		outer = append(outer, "avg("+ident(v.name)+")")
	}
	if len(values) > 0 && r.HavingClause == nil {
		outer = outer[1:]
	}
	each.set(targets, strings.Join(list, ", "))
	each.set(groups, list[0])
	ask := func(what string) { r.ask("SELECT " + what + " FROM (" + each.String() + ") AS each") }
	ask(strings.Join(outer, ", "))
	for _, one := range outer {
		ask(one)
	}
	if len(values) > 0 {
		ask("count(*)")
	}
}

// distinctKeys returns the columns of SELECT DISTINCT.
func distinctKeys(sel *pg.SelectStmt) (keys []*pg.Node) {
	if !pgtree.IsDistinct(sel) {
		return nil
	}
	for _, t := range sel.TargetList {
		if columnOf(valueOf(t)) != "" {
			keys = append(keys, valueOf(t))
		}
	}
	return keys
}

// A value is an expression with a name of its own.
type value struct {
	name string
	val  *pg.Node
}

// values returns the items of the SELECT list that are aggregates, or computed from aggregates. For a window function over groups, it
// returns the value that orders the groups.
func (r *refused) values() (values []value) {
	for _, t := range r.TargetList {
		val := valueOf(t)
		if f := val.GetFuncCall(); f.GetOver() != nil && len(f.Over.OrderClause) > 0 {
			val = f.Over.OrderClause[0].GetSortBy().GetNode()
		}
		asked := func(v value) bool { return same(v.val, val) }
		if !pgtree.Holds(pgtree.IsAggregate, val) || slices.ContainsFunc(values, asked) {
			continue
		}
		name := t.GetResTarget().GetName()
		if name == "" {
			name = nameOf(val)
		}
		if name == "" || slices.ContainsFunc(values, func(v value) bool { return v.name == name }) {
			name = "value" + strconv.Itoa(len(values)+1)
		}
		values = append(values, value{name, val})
	}
	return values
}

// windowToGroups groups by the columns that partition or order a window function over rows:
//
//	SELECT id, avg(x) OVER (PARTITION BY k) FROM t
//	SELECT k, avg(x) FROM t GROUP BY k
//
// A running total becomes a total of the groups' totals. The rows are lost.
func windowToGroups(r *refused) {
	if len(r.GroupClause) > 0 || pgtree.IsAggregated(r.SelectStmt) || len(r.FromClause) == 0 {
		return
	}
	for _, t := range r.TargetList {
		val := valueOf(t)
		f := val.GetFuncCall()
		if f.GetOver() == nil || f.Over.Name != "" || !pgtree.IsAggregateName(nameOf(val)) {
			continue
		}
		call, over := r.windowed(val)
		keys := slices.Clone(f.Over.PartitionClause)
		if sorts := f.Over.OrderClause; len(sorts) > 0 {
			if nameOf(val) != "count" && nameOf(val) != "sum" {
				continue
			}
			for _, s := range sorts {
				keys = append(keys, s.GetSortBy().Node)
			}
			call = "sum(" + call + ") " + over
		}
		if name := t.GetResTarget().Name; name != "" {
			call += " AS " + ident(name)
		}
		d, list := r.with(from, where), r.list(keys...)
		d.set(targets, strings.TrimPrefix(list+", "+call, ", "))
		d.set(groups, list)
		r.ask(d.String())
		r.again(d.String(), unitsToAverage)
	}
}

// windowed returns the text of a window function without OVER, and OVER with its window.
func (r *refused) windowed(n *pg.Node) (call, over string) {
	all := r.place(n)
	from, to := r.tokens(all)
	at := r.toks.Keyword(pg.Token_OVER, from, to, r.toks[max(from, 0)].Depth)
	if at < 0 {
		r.nowhere()
		return "", ""
	}
	return r.edited(r.between(from, at)), r.edited(r.between(at, to))
}

// countRows counts the rows that are asked for:
//
//	SELECT a, b FROM t WHERE c ORDER BY a
//	SELECT count(*) FROM t WHERE c
//
// It applies to a query without aggregates. All of the rows is lost but their number.
func countRows(r *refused) {
	computed := func(n *pg.Node) bool { return pgtree.IsAggregate(n) && !isCollecting(n) }
	if len(r.FromClause) == 0 || len(r.GroupClause) > 0 || pgtree.Holds(computed, append(slices.Clone(r.TargetList), r.HavingClause)...) {
		return
	}
	if pgtree.IsDistinctOn(r.SelectStmt) {
		r.ask("SELECT count(*) FROM (" + r.with(distinct, from, where, having, windows, order).String() + ") AS shown")
	}
	d := r.with(from, where)
	d.set(targets, "count(*)")
	r.ask(d.String())
}

// limitToMedian asks for the middle of ordered values in place of a few of them:
//
//	SELECT x FROM t ORDER BY x LIMIT 1 OFFSET 100
//	SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM t
//
// It applies if the value alone is shown. The place of the row is lost.
func limitToMedian(r *refused) {
	if len(r.SortClause) != 1 || len(r.TargetList) != 1 || r.LimitCount == nil || len(r.GroupClause) > 0 {
		return
	}
	val := valueOf(r.TargetList[0])
	if by := columnOf(r.SortClause[0].GetSortBy().GetNode()); by != "" && by == columnOf(val) {
		d := r.with(from, where)
		d.set(targets, "percentile_cont(0.5) WITHIN GROUP (ORDER BY "+r.text(val)+")")
		r.ask(d.String())
	}
}

// tilesToQuantiles asks for the limits of tiles:
//
//	SELECT ... FROM (SELECT ntile(4) OVER (ORDER BY x) FROM t) q
//	SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY value) FROM (SELECT x AS value FROM t) AS tiled
//
// It applies to at most 100 tiles in a sub-select. The query above the tiles is lost.
func tilesToQuantiles(r *refused) {
	const most = 100
	q := r.located(subselectOf(r.SelectStmt).GetSubquery().GetSelectStmt())
	if q == nil {
		return
	}
	for k, t := range q.TargetList {
		f := valueOf(t).GetFuncCall()
		if f.GetOver() == nil || nameOf(valueOf(t)) != "ntile" || len(f.Args) != 1 || len(f.Over.OrderClause) != 1 {
			continue
		}
		n, _ := pgtree.Position(f.Args[0])
		if n < 2 || n > most {
			return
		}
		var fractions []string
		for j := 1; j < n; j++ {
			fractions = append(fractions, strconv.FormatFloat(float64(j)/float64(n), 'g', 4, 64))
		}
		d := q.draft()
		d.put(q.items()[k], r.text(f.Over.OrderClause[0].GetSortBy().GetNode())+" AS value")
		r.ask("SELECT percentile_cont(ARRAY[" + strings.Join(fractions, ", ") + "]) WITHIN GROUP (ORDER BY value) FROM (" + d.String() +
			") AS tiled")
	}
}
