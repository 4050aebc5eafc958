package repair

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// suggestedEpsilon bounds the price of suggested bounds. The statement shows it, so that its reader sees that bounds cost.
const suggestedEpsilon = "0.1"

// bounded handles a refused column that has no bounds: its first statement suggests bounds, and its second uses them. It looks up the
// bounds of a public column. For computed values it asks for their orders of magnitude instead. It makes no bounds up: an answer with
// made-up bounds is about other values.
func (i *instead) bounded(sel *pg.SelectStmt) {
	out := clone(sel)
	for _, level := range i.at.levelsAt(out) {
		refs := columnsOf(i.at.nodeAt(level))
		if len(refs) == 0 || i.at.mode(level) != nil {
			continue
		}
		own := i.ownColumn(level, refs[0], 0)
		if own != nil && own.typ != "" && !own.unknown {
			return // it has bounds: something else is refused
		}
		if own == nil {
			if level == out {
				i.ranges(out, refs[0])
			}
			return
		}
		if level == out {
			beside{i}.parent(sel, own)
		}
		first := []string{own.suggestion()}
		own.clamp(i.at)
		for _, other := range i.unknown(level) {
			first = append(first, other.suggestion())
			other.clamp(i.at)
		}
		i.add("%s%s", strings.Join(first, ""), selectSQL(out))
		return
	}
}

// unknown lists the further columns without bounds in aggregates of a SELECT that need bounds. It leaves out columns that have been
// clamped.
func (i tables) unknown(sel *pg.SelectStmt) (all []*ownColumn) {
	for _, t := range append(slices.Clone(sel.TargetList), sel.HavingClause) {
		pgtree.Every(t, func(n *pg.Node) {
			if !needsBounds(n) {
				return
			}
			for _, ref := range columnsOf(n) {
				own := i.ownColumn(sel, ref, 0)
				known := func(c *ownColumn) bool { return c.keep() == own.keep() }
				if own != nil && own.unknown && !strings.Contains(exprSQL(n), own.keep()) && !slices.ContainsFunc(all, known) {
					all = append(all, own)
				}
			}
		})
	}
	return all
}

// needsBounds reports whether an expression is an aggregate whose values must have bounds. The values of a sum or an average need none.
func needsBounds(n *pg.Node) bool {
	if !pgtree.IsAggregate(n) {
		return false
	}
	switch nameOf(n) {
	case "count", "sum", "avg", "mode", "bool_and", "bool_or", "every":
		return false
	}
	return true
}

// nodeAt returns the refused expression of a SELECT, nil if it is an aggregate.
func (at spot) nodeAt(sel *pg.SelectStmt) (found *pg.Node) {
	if at < 0 {
		return nil
	}
	everyNodeOf(sel, func(n *pg.Node) {
		if l, ok := locationOf(n); ok && l == at && found == nil && !pgtree.IsAggregate(n) && !pgtree.IsWindowCall(n) {
			found = n
		}
	})
	return found
}

// locationOf returns the place of an expression: its beginning, or its operator.
func locationOf(n *pg.Node) (spot, bool) {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return spot(x.ColumnRef.Location), true
	case *pg.Node_FuncCall:
		return spot(x.FuncCall.Location), true
	case *pg.Node_AExpr:
		return spot(x.AExpr.Location), true
	case *pg.Node_CoalesceExpr:
		return spot(x.CoalesceExpr.Location), true
	case *pg.Node_MinMaxExpr:
		return spot(x.MinMaxExpr.Location), true
	case *pg.Node_CaseExpr:
		return spot(x.CaseExpr.Location), true
	case *pg.Node_TypeCast:
		return spot(x.TypeCast.Location), true
	}
	return 0, false
}

// mode returns the refused call of mode.
func (at spot) mode(sel *pg.SelectStmt) (found *pg.Node) {
	everyNodeOf(sel, func(n *pg.Node) {
		if nameOf(n) != "mode" || len(n.GetFuncCall().AggOrder) != 1 {
			return
		}
		pgtree.Every(n.GetFuncCall().AggOrder[0], func(m *pg.Node) {
			if l, ok := locationOf(m); ok && l == at {
				found = n
			}
		})
	})
	return found
}

// An ownColumn is a column of a table with which a SELECT computes.
type ownColumn struct {
	table  *pg.RangeVar
	column string
	typ    string // the type of suggested bounds; empty for a public column, whose bounds anybody can look up
	// unknown says that the policy has no bounds.
	unknown bool

	level *pg.SelectStmt
	path  []string // its name there
}

// ownColumn finds the column of a table that a reference of a SELECT passes on, or is computed from; nil if no such column has bounds.
func (i tables) ownColumn(sel *pg.SelectStmt, ref *pg.Node, depth int) *ownColumn {
	const deepest = 10
	at := lookup{sel, strings.Join(columnPath(ref), "\x00")}
	if depth > deepest || i.boundless[at] {
		return nil
	}
	own := i.searchColumn(sel, ref, depth)
	i.boundless[at] = own == nil
	return own
}

func (i tables) searchColumn(sel *pg.SelectStmt, ref *pg.Node, depth int) *ownColumn {
	suggester, knows := i.cat.(ast.Suggester)
	if !knows {
		return nil
	}
	name := columnOf(ref)
	item := i.itemOf(sel, ref)
	query := i.queryOf(item)
	if v := item.GetRangeVar(); query == nil && v != nil {
		own := &ownColumn{table: v, column: name, level: sel, path: columnPath(ref)}
		r, _ := i.cat.Relation(v.Schemaname, v.Relname)
		typ, unknown := suggester.SuggestedType(v.Schemaname, v.Relname, name)
		own.typ, own.unknown = unmodified.ReplaceAllString(typ, ""), unknown
		if own.typ == "" && (r.Protected || r.View != "" || !slices.Contains(r.Columns, name)) {
			return nil
		}
		return own
	}
	for _, t := range query.GetTargetList() {
		val := t.GetResTarget().GetVal()
		out, known := pgtree.OutputName(t.GetResTarget())
		switch {
		case pgtree.IsStar(val):
			if own := i.ownColumn(query, columnNamed(name), depth+1); own != nil {
				return own.at(sel, ref)
			}
		case known && out == name && columnOf(val) != "":
			if own := i.ownColumn(query, val, depth+1); own != nil {
				return own.at(sel, ref)
			}
		case known && out == name:
			for _, c := range columnsOf(val) {
				if own := i.ownColumn(query, c, depth+1); own != nil {
					return own
				}
			}
		}
	}
	return nil
}

// at returns the column under the name that it has in a SELECT around sub-selects.
func (c *ownColumn) at(sel *pg.SelectStmt, ref *pg.Node) *ownColumn {
	c.level, c.path = sel, columnPath(ref)
	return c
}

// unmodified matches the lengths and scales in the name of a type, since bounds are powers of two.
var unmodified = regexp.MustCompile(`\([0-9, ]*\)`)

// queryOf returns the query of a sub-select, or of a WITH query that an item of FROM names; nil for a table.
func (i tables) queryOf(item *pg.Node) (query *pg.SelectStmt) {
	if s := item.GetRangeSubselect(); s != nil {
		return s.Subquery.GetSelectStmt()
	}
	if v := item.GetRangeVar(); v != nil && v.Schemaname == "" {
		for _, c := range i.with.GetCtes() {
			if cte := c.GetCommonTableExpr(); cte.GetCtename() == v.Relname {
				query = cte.Ctequery.GetSelectStmt()
			}
		}
	}
	return query
}

// itemOf returns the item of FROM that has a column: the item with its qualifier, or the only item with such a column.
func (i tables) itemOf(sel *pg.SelectStmt, ref *pg.Node) (found *pg.Node) {
	path := columnPath(ref)
	if len(path) == 0 {
		return nil
	}
	for _, item := range itemsOf(sel.FromClause) {
		alias, has := i.described(item, path[len(path)-1])
		if len(path) > 1 && path[len(path)-2] == alias {
			return item
		}
		if len(path) == 1 && has {
			found = item
		}
	}
	return found
}

// described returns the name of an item of FROM, and whether the item has a column.
func (i tables) described(item *pg.Node, column string) (alias string, has bool) {
	alias, query := item.GetRangeSubselect().GetAlias().GetAliasname(), i.queryOf(item)
	if v := item.GetRangeVar(); v != nil {
		alias = aliasOf(v)
		r, known := i.cat.Relation(v.Schemaname, v.Relname)
		has = query == nil && known && slices.Contains(r.Columns, column)
	}
	for _, t := range query.GetTargetList() {
		name, known := pgtree.OutputName(t.GetResTarget())
		has = has || known && name == column || pgtree.IsStar(t.GetResTarget().GetVal())
	}
	return alias, has
}

// itemsOf lists the tables and sub-selects of a FROM clause, including the sides of joins.
func itemsOf(from []*pg.Node) (items []*pg.Node) {
	for _, n := range from {
		if j := n.GetJoinExpr(); j != nil {
			items = append(items, itemsOf([]*pg.Node{j.Larg, j.Rarg})...)
		} else {
			items = append(items, n)
		}
	}
	return items
}

// columnPath returns the name of a column with its qualifiers.
func columnPath(ref *pg.Node) []string {
	names, ok := pgtree.Strings(ref.GetColumnRef().GetFields())
	if !ok {
		return nil
	}
	return names
}

// bounds returns a query for each bound.
func (c *ownColumn) bounds() (lower, upper string) {
	if c.typ != "" {
		return "SELECT lower FROM " + c.keep(), "SELECT upper FROM " + c.keep()
	}
	of, column := fromSQL([]*pg.Node{{Node: &pg.Node_RangeVar{RangeVar: c.bare()}}}), exprSQL(columnNamed(c.column))
	return "SELECT min(" + column + ") FROM " + of, "SELECT max(" + column + ") FROM " + of
}

// bare returns the table without an alias.
func (c *ownColumn) bare() *pg.RangeVar {
	v := copyNode(&pg.Node{Node: &pg.Node_RangeVar{RangeVar: c.table}}).GetRangeVar()
	v.Alias = nil
	return v
}

// keep returns the name of the table that has the suggested bounds.
func (c *ownColumn) keep() string {
	return exprSQL(columnNamed(c.table.Relname + "_" + c.column + "_bounds"))
}

// suggestion returns the statement that makes this table, with a semicolon.
func (c *ownColumn) suggestion() string {
	if c.typ == "" {
		return ""
	}
	path := []*pg.Node{pg.MakeStrNode(c.table.Relname), pg.MakeStrNode(c.column)}
	if c.table.Schemaname != "" {
		path = slices.Insert(path, 0, pg.MakeStrNode(c.table.Schemaname))
	}
	return "CREATE TEMP TABLE IF NOT EXISTS " + c.keep() + " AS SELECT lower::" + c.typ + ", upper::" + c.typ +
		" FROM dp.suggest_bounds(" + ast.Quote(exprSQL(pg.MakeColumnRefNode(path, -1))) + ", epsilon => " + suggestedEpsilon + "); "
}

// clamp bounds a column wherever its SELECT computes with it.
func (c *ownColumn) clamp(at spot) {
	sel := c.level
	lists := [][]*pg.Node{sel.TargetList, sel.GroupClause, sel.SortClause, {sel.HavingClause}}
	for _, n := range pgtree.Conjuncts(sel.WhereClause) {
		if at.standsIn(n) {
			lists = append(lists, []*pg.Node{n})
		}
	}
	var refs []*pg.Node
	for _, list := range lists {
		for _, n := range list {
			plain := n
			if t := n.GetResTarget(); t != nil {
				plain = t.Val
			} else if s := n.GetSortBy(); s != nil {
				plain = s.Node
			}
			pgtree.Every(n, func(m *pg.Node) {
				if m != plain && slices.Equal(columnPath(m), c.path) {
					refs = append(refs, m)
				}
			})
		}
	}
	lower, upper := c.bounds()
	for _, n := range refs {
		replaceBy(n, ast.Clamp(exprSQL(n), "("+lower+")", "("+upper+")"))
	}
}

// standsIn reports whether the refused thing is in an expression.
func (at spot) standsIn(n *pg.Node) bool {
	found := false
	pgtree.Every(n, func(m *pg.Node) {
		l, ok := locationOf(m)
		found = found || ok && l == at
	})
	return found
}

// ranges counts the values of each order of magnitude. It is for computed values, for which no bounds can be suggested.
func (i *instead) ranges(sel *pg.SelectStmt, ref *pg.Node) {
	const most = 6 // digits
	if len(sel.GroupClause) > 0 {
		return
	}
	value := exprSQL(ref)
	var choice strings.Builder
	choice.WriteString("CASE WHEN " + value + " < 0 THEN 'below 0'")
	for digits, end := 0, 1; digits < most; digits++ {
		end *= 10
		choice.WriteString(" WHEN " + value + " < " + strconv.Itoa(end) + " THEN 'below " + strconv.Itoa(end) + "'")
	}
	i.add("SELECT %s ELSE 'more' END AS range, count(*) FROM %s%s GROUP BY 1", choice.String(), fromSQL(sel.FromClause),
		whereSQL(conditionSQL(sel.WhereClause)))
}

// modes shows the most frequent value as a group, if no list of values is known to choose from.
func (i *instead) modes(sel *pg.SelectStmt) {
	call := i.at.mode(sel)
	if call == nil || !slices.ContainsFunc(sel.TargetList, i.at.standsIn) {
		return
	}
	value := exprSQL(call.GetFuncCall().AggOrder[0].GetSortBy().GetNode())
	from := fromSQL(sel.FromClause) + whereSQL(conditionSQL(sel.WhereClause), conditionSQL(call.GetFuncCall().AggFilter))
	if len(sel.GroupClause) == 0 {
		i.add("SELECT %s, count(*) FROM %s GROUP BY %[1]s ORDER BY count(*) DESC LIMIT 1", value, from)
	} else if keys := i.keys(sel); len(keys) == len(sel.GroupClause) {
		i.add("SELECT DISTINCT ON (%s) %[1]s, %s, count(*) FROM %s GROUP BY %[1]s, %[2]s ORDER BY %[1]s, count(*) DESC",
			listSQL(keys), value, from)
	}
	out := clone(sel)
	replaceBy(i.at.mode(out), "percentile_cont(0.5) WITHIN GROUP (ORDER BY "+value+")")
	i.add("%s", selectSQL(out))
}

// keys returns the expressions of GROUP BY, including those named by position or alias.
func (i tables) keys(sel *pg.SelectStmt) (keys []*pg.Node) {
	for _, g := range sel.GroupClause {
		if k, ok := pgtree.Position(g); ok {
			if k < 1 || k > len(sel.TargetList) {
				return nil
			}
			g = sel.TargetList[k-1].GetResTarget().GetVal()
		} else if path := columnPath(g); len(path) == 1 && i.itemOf(sel, g) == nil {
			if t := pgtree.TargetNamed(sel, path[0]); t != nil {
				g = t.Val
			}
		}
		keys = append(keys, g)
	}
	return keys
}
