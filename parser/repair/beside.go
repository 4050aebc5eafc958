package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// valueToGroups joins public rows with the protected rows that a sub-select aggregates for each of them:
//
//	SELECT p.name, (SELECT count(*) FROM t WHERE t.p = p.id) FROM p
//	SELECT p.name, count(t.id) FROM p LEFT JOIN t ON t.p = p.id GROUP BY p.id, p.name
//
// It applies if the sub-select is the only one, and asks for one table under conditions alone. Nothing is lost.
func valueToGroups(r *refused) {
	links := find(isSubLink, r.TargetList...)
	if !r.isPublic() || len(links) != 1 || links[0].GetSubLink().SubLinkType != pg.SubLinkType_EXPR_SUBLINK {
		return
	}
	query := r.rowsBeside(links[0].GetSubLink().Subselect.GetSelectStmt())
	if query == nil || len(query.TargetList) != 1 || !pgtree.IsAggregate(valueOf(query.TargetList[0])) {
		return
	}
	d, call := r.draft(), valueOf(query.TargetList[0])
	if call.GetFuncCall().GetAggStar() {
		d.replace(links[0], r.edited(r.place(call), edit{r.star(call), r.valued(query)}))
	} else {
		d.replace(links[0], r.text(call))
	}
	r.besides(d, query, links[0])
}

// existsToCounts counts the protected rows that EXISTS looks for, for each public row:
//
//	SELECT p.name FROM p WHERE NOT EXISTS (SELECT ... FROM t WHERE t.p = p.id)
//	SELECT p.name, count(t.id) FROM p LEFT JOIN t ON t.p = p.id GROUP BY p.id, p.name
//
// It applies as valueToGroups does. The client must choose the rows: a count of no rows is near zero.
func existsToCounts(r *refused) {
	if !r.isPublic() {
		return
	}
	for _, c := range pgtree.Conjuncts(r.WhereClause) {
		looked := existing(c)
		if looked == nil {
			looked = notExisting(c)
		}
		if query := r.rowsBeside(looked); query != nil {
			d := r.draft()
			d.without(c)
			d.append(targets, ", count("+r.valued(query)+")")
			r.besides(d, query, nil)
			return
		}
	}
}

// isPublic reports whether a query shows rows of one public table, in which there is one sub-select.
func (r *refused) isPublic() bool {
	table, _ := tableOf(r.FromClause)
	star := func(t *pg.Node) bool { return pgtree.IsStar(valueOf(t)) }
	return table != nil && !r.protected(table) && !pgtree.IsAggregated(r.SelectStmt) && len(r.DistinctClause) == 0 &&
		len(nodesOf(r.SelectStmt, isSubLink)) == 1 && !slices.ContainsFunc(r.TargetList, star)
}

// rowsBeside returns a query that has rows of one protected table, under conditions alone; nil if it is another one.
func (r *refused) rowsBeside(sel *pg.SelectStmt) *query {
	table, _ := tableOf(sel.GetFromClause())
	if !r.protected(table) || sel.WhereClause == nil || len(sel.GroupClause) > 0 || sel.HavingClause != nil || sel.LimitCount != nil ||
		sel.LimitOffset != nil || len(sel.DistinctClause) > 0 {
		return nil
	}
	return r.located(sel)
}

// valued returns a column that has a value in every row of the table of a query.
func (r *refused) valued(q *query) string {
	v, alias := tableOf(q.FromClause)
	t, _ := r.of(v)
	return ident(alias) + "." + ident(t.valued())
}

// besides joins the rows of a query, and groups by the key of the public table and by what is shown of it, but for the counted link.
func (r *refused) besides(d *draft, q *query, link *pg.Node) {
	v, alias := tableOf(r.FromClause)
	t, _ := r.of(v)
	var keys []string
	if len(t.Keys) > 0 {
		keys = append(keys, ident(alias)+"."+ident(t.Keys[0]))
	}
	for _, target := range r.TargetList {
		counted := link != nil && slices.Contains(find(isSubLink, target), link)
		if key := r.text(valueOf(target)); !counted && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	d.append(from, " LEFT JOIN "+q.clause(from)+" ON "+q.clause(where))
	d.set(groups, strings.Join(keys, ", "))
	r.edit(d)
}

// countToRank numbers the rows of a unit, if a sub-select counts the rows before each row:
//
//	SELECT ... FROM t WHERE (SELECT count(*) FROM t u WHERE u.unit = t.unit AND u.day < t.day) >= 5
//	SELECT ... FROM (SELECT *, rank() OVER (PARTITION BY unit ORDER BY day) - 1 AS before FROM t) AS t WHERE before >= 5
//
// It applies if these two conditions are all. Nothing is lost.
func countToRank(r *refused) {
	table, alias := tableOf(r.FromClause)
	links := nodesOf(r.SelectStmt, isSubLink)
	if !r.protected(table) || len(links) != 1 || links[0].GetSubLink().SubLinkType != pg.SubLinkType_EXPR_SUBLINK {
		return
	}
	query := links[0].GetSubLink().Subselect.GetSelectStmt()
	other, own := tableOf(query.GetFromClause())
	if other == nil || !sameTable(other, table) || len(query.TargetList) != 1 || !isCountOfRows(valueOf(query.TargetList[0])) {
		return
	}
	window := r.rank(query, own, alias)
	if window == "" {
		return
	}
	d := r.draft()
	d.replace(links[0], "before")
	d.set(from, "(SELECT *, rank() OVER ("+window+") - 1 AS before FROM "+r.clause(from)+") AS "+ident(alias))
	r.edit(d)
}

// rank returns the window whose rank counts the rows of a unit before each row, "" if a query asks for other rows.
func (r *refused) rank(query *pg.SelectStmt, own, alias string) string {
	units := r.unitOf(r.FromClause)
	partition, order := "", ""
	list := pgtree.Conjuncts(query.WhereClause)
	for _, c := range list {
		e := c.GetAExpr()
		name := columnOf(e.GetLexpr())
		if name == "" || name != columnOf(e.GetRexpr()) || ofTable(own, e.Lexpr) == ofTable(own, e.Rexpr) ||
			ofTable(alias, e.Lexpr) == ofTable(alias, e.Rexpr) {
			return ""
		}
		switch operator := pgtree.OperatorName(e); {
		case operator == "=" && units[name]:
			partition = r.name(e.Lexpr)
		case operator == "<" && ofTable(own, e.Lexpr), operator == ">" && ofTable(own, e.Rexpr):
			order = r.name(e.Lexpr)
		case operator == ">" || operator == "<":
			order = r.name(e.Lexpr) + " DESC"
		}
	}
	if len(list) != 2 || own == alias || partition == "" || order == "" {
		return ""
	}
	return "PARTITION BY " + partition + " ORDER BY " + order
}

// countBeside counts a column of the protected rows beside a calendar, or another list:
//
//	SELECT d, count(*) FROM days d LEFT JOIN t ON t.day = d GROUP BY d
//	SELECT d, count(t.day) FROM days d LEFT JOIN t ON t.day = d GROUP BY d
//
// It applies if one equality joins them, without WHERE. Days without a row count as zero, not as one.
func countBeside(r *refused) {
	_, ours, _, ok := r.joined()
	if !ok {
		return
	}
	d := r.draft()
	for _, n := range find(isCountOfRows, r.TargetList...) {
		d.put(r.star(n), r.text(ours))
	}
	r.edit(d)
}

// joinAbove joins a calendar, or another list, with released groups of the protected rows:
//
//	SELECT d, count(t.id) FROM days d LEFT JOIN t ON t.day = d GROUP BY d
//	SELECT d, coalesce(sum(released.value), 0) FROM days d LEFT JOIN
//	(SELECT t.day AS key, count(t.id) AS value FROM t GROUP BY 1) AS released ON released.key = d GROUP BY d
//
// It applies as countBeside does, if there is one count or sum. Nothing is lost.
func joinAbove(r *refused) {
	j, ours, theirs, ok := r.joined()
	if !ok {
		return
	}
	calls := find(func(n *pg.Node) bool {
		return (nameOf(n) == "count" || nameOf(n) == "sum") && !n.GetFuncCall().AggDistinct
	}, r.TargetList...)
	if len(calls) != 1 {
		return
	}
	total := "coalesce(sum(released.value), 0)"
	if j.Jointype == pg.JoinType_JOIN_INNER {
		total = "sum(released.value)"
	}
	d, table := r.draft(), r.item(j.Rarg)
	d.replace(calls[0], total)
	d.put(table, "(SELECT "+r.text(ours)+" AS key, "+r.text(calls[0])+" AS value FROM "+r.edited(table)+" GROUP BY 1) AS released")
	d.replace(j.Quals, "released.key = "+r.operand(theirs))
	r.edit(d)
}

// joined returns the join of a list with protected rows that FROM is, and the sides of its equality: that of the rows and that of the list.
func (r *refused) joined() (j *pg.JoinExpr, ours, theirs *pg.Node, ok bool) {
	if len(r.FromClause) != 1 || r.WhereClause != nil {
		return nil, nil, nil, false
	}
	j = r.FromClause[0].GetJoinExpr()
	table := j.GetRarg().GetRangeVar()
	theirs, ours, ok = equality(j.GetQuals())
	if !ok || !r.protected(table) {
		return nil, nil, nil, false
	}
	alias := aliasOf(table)
	if ofTable(alias, theirs) {
		ours, theirs = theirs, ours
	}
	return j, ours, theirs, ofTable(alias, ours) && !ofTable(alias, theirs)
}

// valuesToCase writes a join with VALUES as CASE:
//
//	SELECT l.name, count(*) FROM t JOIN (VALUES (1, 'a')) l(n, name) ON l.n = t.n GROUP BY l.name
//	SELECT CASE WHEN 1 = t.n THEN 'a' END AS name, count(*) FROM t GROUP BY name
//
// It applies if a column of VALUES is the only group. A row that matches several rows of VALUES counts for the first, and the rows that
// match none are a group. The client's order is lost.
func valuesToCase(r *refused) {
	if len(r.FromClause) != 1 || len(r.GroupClause) != 1 {
		return
	}
	j := r.FromClause[0].GetJoinExpr()
	for _, sides := range [][2]*pg.Node{{j.GetLarg(), j.GetRarg()}, {j.GetRarg(), j.GetLarg()}} {
		list := sides[0].GetRangeSubselect()
		rows := list.GetSubquery().GetSelectStmt().GetValuesLists()
		if len(rows) == 0 || !r.protected(sides[1].GetRangeVar()) || j.Quals == nil {
			continue
		}
		names, _ := pgtree.Strings(list.Alias.GetColnames())
		label := slices.Index(names, columnOf(r.GroupClause[0]))
		if label < 0 {
			return
		}
		var choice strings.Builder
		choice.WriteString("CASE")
		for _, row := range rows {
			items := row.GetList().GetItems()
			if label >= len(items) {
				return
			}
			choice.WriteString(" WHEN " + r.chosen(j.Quals, list.Alias.Aliasname, names, items) + " THEN " + r.text(items[label]))
		}
		d := r.with(where)
		spans := r.items()
		for i, t := range r.TargetList {
			if columnOf(valueOf(t)) == names[label] {
				d.put(spans[i], choice.String()+" END AS "+ident(names[label]))
			}
		}
		d.set(from, r.edited(r.item(sides[1])))
		d.set(groups, ident(names[label]))
		r.ask(d.String())
		return
	}
}

// chosen writes the condition of a join with a row of a list.
func (r *refused) chosen(condition *pg.Node, alias string, names []string, row []*pg.Node) string {
	var edits []edit
	for _, ref := range find(isColumn, condition) {
		if k := slices.Index(names, columnOf(ref)); ofTable(alias, ref) && k >= 0 && k < len(row) {
			edits = append(edits, edit{r.place(ref), r.operand(row[k])})
		}
	}
	return r.edited(r.place(condition), edits...)
}
