package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// earlier is the alias of the rows with which a row is compared.
const earlier = "earlier"

// An ordering orders the rows of a privacy unit by one column.
type ordering struct {
	keys []*pg.Node
	by   *pg.Node
	desc bool
}

func orderingOf(keys, sorts []*pg.Node) (o ordering, ok bool) {
	for _, s := range sorts {
		by := s.GetSortBy()
		if slices.ContainsFunc(keys, func(k *pg.Node) bool { return columnOf(k) != "" && columnOf(k) == columnOf(by.GetNode()) }) {
			continue
		}
		o = ordering{keys: keys, by: by.GetNode(), desc: by.GetSortbyDir() == pg.SortByDir_SORTBY_DESC}
		break
	}
	ok = columnOf(o.by) != "" && len(keys) > 0 && !slices.ContainsFunc(keys, func(k *pg.Node) bool { return columnOf(k) == "" })
	return o, ok
}

// ofEarlierRows writes the first rows of units, and window functions over the rows before, as a join of a table with itself.
func (i *instead) ofEarlierRows(sel *pg.SelectStmt) {
	query, at := subselectOf(sel)
	if query == nil || at.Lateral {
		return
	}
	inner := ""
	if len(query.DistinctClause) > 0 && !pgtree.IsDistinct(query) {
		if o, ok := orderingOf(query.DistinctClause, query.SortClause); ok {
			inner = firstRows(query, o)
		}
	} else {
		inner = afterEarlier(query, i.unitOf(query.FromClause))
	}
	if inner == "" {
		return
	}
	i.around(sel, inner)
}

// around writes a query around another sub-select.
func (i *instead) around(sel *pg.SelectStmt, inner string) {
	tree, err := pg.Parse(inner)
	if err != nil {
		return
	}
	out := clone(sel)
	if _, at := subselectOf(out); at != nil {
		at.Subquery = tree.Stmts[0].Stmt
		i.add("%s", selectSQL(out))
	}
}

// A selfJoin is FROM and WHERE of a query that joins each row with the rows before it, or after it.
type selfJoin struct {
	alias string // the qualifier that columns of the query get, "" if they have their own
	from  string
	where string
}

// amid is the alias of the rows between a row and an earlier one.
const amid = "amid"

func joinedEarlier(query *pg.SelectStmt, o ordering, behind, next bool) (j selfJoin, ok bool) {
	table, alias := tableOf(query.FromClause)
	j.alias = alias
	if table == nil { // the rows of one of several tables, which the qualifiers of columns name
		qualifier, _, qualified := strings.Cut(exprOfColumn(o.by), ".")
		if table = aliased(query.FromClause, qualifier); table == nil || !qualified || query.WhereClause != nil {
			return j, false
		}
	}
	before, after := " < ", " > "
	if o.desc != behind {
		before, after = after, before
	}
	var on, between []string
	for _, k := range o.keys {
		on = append(on, exprSQL(renamed(k, earlier))+" = "+exprSQL(j.own(k)))
		between = append(between, exprSQL(renamed(k, amid))+" = "+exprSQL(j.own(k)))
	}
	on = append(on, exprSQL(renamed(o.by, earlier))+before+exprSQL(j.own(o.by)))
	between = append(between, exprSQL(renamed(o.by, amid))+before+exprSQL(j.own(o.by)),
		exprSQL(renamed(o.by, amid))+after+exprSQL(renamed(o.by, earlier)))
	if query.WhereClause != nil {
		on = append(on, "("+exprSQL(renamed(query.WhereClause, earlier))+")")
		between = append(between, "("+exprSQL(renamed(query.WhereClause, amid))+")")
	}
	j.from = fromSQL(query.FromClause) + " LEFT JOIN " + tableAs(table, earlier) + " ON " + strings.Join(on, " AND ")
	if next {
		j.from += " LEFT JOIN " + tableAs(table, amid) + " ON " + strings.Join(between, " AND ")
	}
	j.where = whereSQL(conditionSQL(j.own(query.WhereClause)))
	return j, true
}

// own gives the columns of an expression the qualifier of the query's table.
func (j selfJoin) own(n *pg.Node) *pg.Node {
	if j.alias == "" {
		return n
	}
	return renamed(n, j.alias)
}

// ownOnce lists columns, each once.
func (j selfJoin) ownOnce(list []*pg.Node) []*pg.Node {
	var out []*pg.Node
	for _, n := range list {
		out = append(out, j.own(n))
	}
	return columnsOf(out...)
}

// aliased finds a table of a FROM clause.
func aliased(from []*pg.Node, alias string) (table *pg.RangeVar) {
	for _, n := range from {
		pgtree.Every(n, func(m *pg.Node) {
			if v := m.GetRangeVar(); v != nil && aliasOf(v) == alias {
				table = v
			}
		})
	}
	return table
}

// tableAs writes a table with another alias.
func tableAs(v *pg.RangeVar, alias string) string {
	out := copyNode(&pg.Node{Node: &pg.Node_RangeVar{RangeVar: v}})
	out.GetRangeVar().Alias = &pg.Alias{Aliasname: alias}
	return fromSQL([]*pg.Node{out})
}

// firstRows writes SELECT DISTINCT ON as the rows with no row before them.
func firstRows(query *pg.SelectStmt, o ordering) string {
	j, ok := joinedEarlier(query, o, false, false)
	if !ok {
		return ""
	}
	var targets []*pg.Node
	for _, t := range query.TargetList {
		targets = append(targets, j.own(t))
	}
	list := append(append(slices.Clone(o.keys), o.by), columnsOf(query.TargetList...)...)
	return "SELECT " + listSQL(targets) + " FROM " + j.from + j.where + " GROUP BY " + listSQL(j.ownOnce(list)) +
		" HAVING count(" + exprSQL(renamed(o.keys[0], earlier)) + ") = 0"
}

// A windowed is a query with row_number, rank, lag or lead over the rows of a unit.
type windowed struct {
	order   ordering
	ok      bool
	behind  bool       // lead
	next    bool       // values of the adjacent row
	targets []*pg.Node // with other expressions in the place of window functions
}

// window puts another expression in the place of a window function.
func (w *windowed) window(n *pg.Node) bool {
	f := n.GetFuncCall()
	o, ok := orderingOf(f.Over.PartitionClause, f.Over.OrderClause)
	if !ok {
		return false
	}
	w.order, w.ok = o, true
	switch name := nameOf(n); {
	case name == "row_number" || name == "rank":
		replaceBy(n, "(count("+exprSQL(renamed(o.keys[0], earlier))+") + 1)")
	case name != "lag" && name != "lead" || len(f.Args) != 1 || columnOf(f.Args[0]) == "":
		return false
	case columnOf(f.Args[0]) == columnOf(o.by):
		w.behind = name == "lead"
		replaceBy(n, map[bool]string{false: "max", true: "min"}[w.behind != o.desc]+"("+exprSQL(renamed(o.by, earlier))+")")
	default:
		w.behind, w.next = name == "lead", true
		replaceBy(n, exprSQL(renamed(f.Args[0], earlier)))
	}
	return true
}

// afterEarlier writes a query with window functions over the rows of a unit. It writes none if the functions partition by other keys.
func afterEarlier(query *pg.SelectStmt, units map[string]bool) string {
	w := &windowed{}
	for _, t := range query.TargetList {
		out := copyNode(t)
		var calls []*pg.Node
		pgtree.Every(out, func(n *pg.Node) {
			if n.GetFuncCall().GetOver() != nil {
				calls = append(calls, n)
			}
		})
		if slices.ContainsFunc(calls, func(n *pg.Node) bool { return !w.window(n) }) {
			return ""
		}
		w.targets = append(w.targets, out)
	}
	isUnit := func(k *pg.Node) bool { return units[columnOf(k)] }
	if !w.ok || len(units) > 0 && !slices.ContainsFunc(w.order.keys, isUnit) {
		return ""
	}
	j, ok := joinedEarlier(query, w.order, w.behind, w.next)
	if !ok {
		return ""
	}
	list := append(slices.Clone(w.order.keys), w.order.by)
	if w.next {
		list = append(list, parsed(earlier+"."+columnOf(w.order.by)))
	}
	having := ""
	if w.next {
		having = " HAVING count(" + exprSQL(renamed(w.order.keys[0], amid)) + ") = 0"
	}
	groups := listSQL(w.grouped(j, list))
	return "SELECT " + listSQL(w.targets) + " FROM " + j.from + j.where + " GROUP BY " + groups + having
}

// grouped gives the columns of the SELECT list qualifiers, and lists the columns by which rows are grouped.
func (w *windowed) grouped(j selfJoin, keys []*pg.Node) []*pg.Node {
	var all []*pg.Node
	for _, k := range keys {
		if strings.HasPrefix(exprOfColumn(k), earlier+".") {
			all = append(all, k)
		} else {
			all = append(all, j.own(k))
		}
	}
	for _, t := range w.targets {
		var refs []*pg.Node
		pgtree.Every(t, func(n *pg.Node) {
			if ref := n.GetColumnRef(); ref != nil {
				refs = append(refs, n)
			}
		})
		for _, n := range refs {
			if !strings.HasPrefix(exprOfColumn(n), earlier+".") {
				n.Node = j.own(n).Node
				all = append(all, n)
			} else if w.next {
				all = append(all, n)
			}
		}
	}
	return columnsOf(all...)
}

// countedBeside counts a column of the protected rows that are joined with a calendar. A count of all rows would count days without a row.
func (i *instead) countedBeside(sel *pg.SelectStmt, ours *pg.Node) {
	out := clone(sel)
	changed := false
	for _, t := range out.TargetList {
		pgtree.Every(t, func(n *pg.Node) {
			if f := n.GetFuncCall(); nameOf(n) == "count" && f.AggStar {
				f.AggStar, f.Args, changed = false, []*pg.Node{copyNode(ours)}, true
			}
		})
	}
	if changed {
		i.add("%s", selectSQL(out))
	}
}

// joinedAbove joins a calendar, or another list, with the released groups of protected rows.
func (i *instead) joinedAbove(sel *pg.SelectStmt) {
	if len(sel.FromClause) != 1 {
		return
	}
	j := sel.FromClause[0].GetJoinExpr()
	table := j.GetRarg().GetRangeVar()
	on := j.GetQuals().GetAExpr()
	if !i.protected(table) || on == nil || pgtree.OperatorName(on) != "=" || sel.WhereClause != nil {
		return
	}
	alias := aliasOf(table)
	ours, theirs := on.Rexpr, on.Lexpr
	if of(alias, theirs) {
		ours, theirs = theirs, ours
	}
	if !of(alias, ours) || of(alias, theirs) {
		return
	}
	i.countedBeside(sel, ours)
	out := clone(sel)
	var calls []*pg.Node
	for _, t := range out.TargetList {
		pgtree.Every(t, func(n *pg.Node) {
			if name := nameOf(n); (name == "count" || name == "sum") && !n.GetFuncCall().AggDistinct {
				calls = append(calls, n)
			}
		})
	}
	if len(calls) != 1 {
		return
	}
	value := exprSQL(calls[0])
	replaceBy(calls[0], "coalesce(sum(released.value), 0)")
	if j.Jointype == pg.JoinType_JOIN_INNER {
		replaceBy(calls[0], "sum(released.value)")
	}
	inner := "SELECT " + exprSQL(ours) + " AS key, " + value + " AS value FROM " + fromSQL([]*pg.Node{j.Rarg}) + " GROUP BY 1"
	tree, err := pg.Parse(inner)
	if err != nil {
		return
	}
	join := out.FromClause[0].GetJoinExpr()
	join.Rarg = &pg.Node{Node: &pg.Node_RangeSubselect{RangeSubselect: &pg.RangeSubselect{
		Subquery: tree.Stmts[0].Stmt, Alias: &pg.Alias{Aliasname: "released"},
	}}}
	join.Quals = parsed("released.key = " + exprSQL(theirs))
	i.add("%s", selectSQL(out))
}

// of reports whether an expression has columns of a table.
func of(alias string, n *pg.Node) bool {
	return slices.ContainsFunc(columnsOf(n), func(c *pg.Node) bool { return strings.HasPrefix(exprOfColumn(c), alias+".") })
}

// values writes a join with VALUES as CASE.
func (i *instead) values(sel *pg.SelectStmt) {
	if len(sel.FromClause) != 1 || len(sel.GroupClause) != 1 {
		return
	}
	j := sel.FromClause[0].GetJoinExpr()
	for _, sides := range [][2]*pg.Node{{j.GetLarg(), j.GetRarg()}, {j.GetRarg(), j.GetLarg()}} {
		list, table := sides[0].GetRangeSubselect(), sides[1].GetRangeVar()
		rows := list.GetSubquery().GetSelectStmt().GetValuesLists()
		if len(rows) == 0 || !i.protected(table) || j.Quals == nil {
			continue
		}
		names, _ := pgtree.Strings(list.Alias.GetColnames())
		label := slices.Index(names, columnOf(sel.GroupClause[0]))
		if label < 0 {
			return
		}
		var choice strings.Builder
		choice.WriteString("CASE")
		for _, row := range rows {
			items := row.GetList().GetItems()
			condition := copyNode(j.Quals)
			var refs []*pg.Node
			pgtree.Every(condition, func(n *pg.Node) {
				if of(list.Alias.Aliasname, n) && n.GetColumnRef() != nil {
					refs = append(refs, n)
				}
			})
			for _, n := range refs {
				if k := slices.Index(names, columnOf(n)); k >= 0 && k < len(items) {
					n.Node = items[k].Node
				}
			}
			if label >= len(items) {
				return
			}
			choice.WriteString(" WHEN " + exprSQL(condition) + " THEN " + exprSQL(items[label]))
		}
		out := clone(sel)
		for _, t := range out.TargetList {
			if columnOf(t.GetResTarget().GetVal()) == names[label] {
				t.GetResTarget().Name = names[label]
				replaceBy(t.GetResTarget().Val, choice.String()+" END")
			}
		}
		i.add("SELECT %s FROM %s GROUP BY %s", listSQL(out.TargetList), fromSQL([]*pg.Node{sides[1]}), names[label])
		return
	}
}

// ofRelease groups by the columns with which the query computes, and computes with the released groups.
func (i *instead) ofRelease(sel *pg.SelectStmt) {
	const most = 3 // columns, by which there may be as many groups as rows
	table, _ := tableOf(sel.FromClause)
	if table == nil || sel.HavingClause != nil || hasSubLink(sel) {
		return
	}
	var shown []*pg.Node
	out := clone(sel)
	var calls []*pg.Node
	for _, t := range out.TargetList {
		val := t.GetResTarget().GetVal()
		if f := val.GetFuncCall(); (nameOf(val) == "count" || nameOf(val) == "sum") && f.Over == nil && !f.AggDistinct {
			calls = append(calls, val)
		} else {
			shown = append(shown, t)
		}
	}
	columns := columnsOf(append(slices.Clip(shown), sel.WhereClause)...)
	if len(calls) != 1 || pgtree.Holds(pgtree.IsAggregate, shown...) || len(columns) == 0 || len(columns) > most {
		return
	}
	keys, value, total := listSQL(columns), exprSQL(calls[0]), "sum(n)"
	if nameOf(calls[0]) == "count" && len(sel.GroupClause) == 0 {
		total = "coalesce(sum(n), 0)"
	}
	replaceBy(calls[0], total)
	groups := "SELECT " + keys + ", " + value + " AS n FROM " + fromSQL(sel.FromClause) + " GROUP BY " + keys
	sql := "SELECT " + listSQL(out.TargetList) + " FROM (" + groups + ") AS " + aliasOf(table) + whereSQL(conditionSQL(sel.WhereClause))
	if len(sel.GroupClause) > 0 {
		sql += " GROUP BY " + listSQL(sel.GroupClause)
	}
	i.add("%s", sql)
}

func hasSubLink(sel *pg.SelectStmt) (found bool) {
	everyNodeOf(sel, func(n *pg.Node) { found = found || n.GetSubLink() != nil })
	return found
}
