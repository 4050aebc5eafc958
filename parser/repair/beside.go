package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A beside writes other joins of the tables in FROM.
type beside struct{ *instead }

// public joins the rows of a public table with the protected rows that a sub-select counts, or looks for, for each of them. It counts the
// rows that EXISTS looks for: if there are none, the count is near zero.
func (i beside) public(sel *pg.SelectStmt) {
	table, alias := tableOf(sel.FromClause)
	if table == nil || i.protected(table) || pgtree.IsAggregated(sel) || len(sel.DistinctClause) > 0 {
		return
	}
	out := clone(sel)
	query := i.aggregated(out)
	if query == nil {
		query = i.lookedFor(out)
	}
	if query == nil || hasSubLink(out) {
		return
	}
	if r, known := i.cat.Relation(table.Schemaname, table.Relname); known && len(r.Unique) > 0 {
		out.GroupClause = append(out.GroupClause, parsed(ast.QuoteIdent(alias)+"."+ast.QuoteIdent(r.Unique[0])))
	}
	for _, t := range out.TargetList {
		val := t.GetResTarget().GetVal()
		grouped := slices.ContainsFunc(out.GroupClause, func(n *pg.Node) bool { return exprOfColumn(n) == exprOfColumn(val) })
		if !pgtree.Holds(pgtree.IsAggregate, val) && !grouped {
			out.GroupClause = append(out.GroupClause, val)
		}
	}
	out.FromClause = []*pg.Node{{Node: &pg.Node_JoinExpr{JoinExpr: &pg.JoinExpr{
		Jointype: pg.JoinType_JOIN_LEFT, Larg: sel.FromClause[0], Rarg: query.FromClause[0], Quals: query.WhereClause,
	}}}}
	i.add("%s", selectSQL(out))
}

// aggregated puts the aggregate of a sub-select in its place in a SELECT list, and returns its query. It returns nil unless there is
// exactly one.
func (i beside) aggregated(out *pg.SelectStmt) (query *pg.SelectStmt) {
	var links []*pg.Node
	for _, t := range out.TargetList {
		pgtree.Every(t, func(n *pg.Node) {
			if n.GetSubLink() != nil {
				links = append(links, n)
			}
		})
	}
	if len(links) != 1 || links[0].GetSubLink().SubLinkType != pg.SubLinkType_EXPR_SUBLINK {
		return nil
	}
	query = links[0].GetSubLink().Subselect.GetSelectStmt()
	if !i.rowsBeside(query) || len(query.TargetList) != 1 || !pgtree.IsAggregate(query.TargetList[0].GetResTarget().GetVal()) {
		return nil
	}
	call := query.TargetList[0].GetResTarget().GetVal()
	if f := call.GetFuncCall(); f.GetAggStar() {
		f.AggStar, f.Args = false, []*pg.Node{i.valued(query)}
	}
	links[0].Node = call.Node
	return query
}

// lookedFor takes EXISTS out of WHERE, counts its rows in the SELECT list, and returns its query; nil if there is no EXISTS.
func (i beside) lookedFor(out *pg.SelectStmt) *pg.SelectStmt {
	var rest []*pg.Node
	var query *pg.SelectStmt
	for _, c := range pgtree.Conjuncts(out.WhereClause) {
		found := notExisting(c)
		if s := c.GetSubLink(); s.GetSubLinkType() == pg.SubLinkType_EXISTS_SUBLINK {
			found = s.Subselect.GetSelectStmt()
		}
		if found == nil || query != nil {
			rest = append(rest, c)
			continue
		}
		query = found
	}
	if !i.rowsBeside(query) {
		return nil
	}
	out.WhereClause = pgtree.AllOf(rest...)
	out.TargetList = append(out.TargetList, target(parsed("count("+exprSQL(i.valued(query))+")")))
	return query
}

// rowsBeside reports whether a query has rows of one protected table, under conditions alone.
func (i beside) rowsBeside(query *pg.SelectStmt) bool {
	if query == nil {
		return false
	}
	table, _ := tableOf(query.FromClause)
	return i.protected(table) && query.WhereClause != nil && len(query.GroupClause) == 0 && query.HavingClause == nil &&
		query.LimitCount == nil && query.LimitOffset == nil && len(query.DistinctClause) == 0
}

// valued returns a column that has a value in every row of the table of a query.
func (i beside) valued(query *pg.SelectStmt) *pg.Node {
	table, alias := tableOf(query.FromClause)
	r, _ := i.cat.Relation(table.Schemaname, table.Relname)
	return parsed(ast.QuoteIdent(alias) + "." + ast.QuoteIdent(valuedOf(r)))
}

// valuedOf returns a column of a table that has a value in every row, if analysts can name such a column: the unit, or a key. Otherwise it
// returns any column.
func valuedOf(r ast.Relation) string {
	unit := nonEmpty(r.Unit)
	if r.Nobody {
		unit = nil
	}
	return slices.Concat(unit, r.Unique, r.Columns)[0]
}

func nonEmpty(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// ranked numbers the rows of a unit if a sub-select counts the rows before each row: the count is the rank less one.
func (i beside) ranked(sel *pg.SelectStmt) {
	table, alias := tableOf(sel.FromClause)
	if !i.protected(table) {
		return
	}
	out := clone(sel)
	units := i.unitOf(sel.FromClause)
	window, found := "", 0
	everyNodeOf(out, func(n *pg.Node) {
		s := n.GetSubLink()
		if s == nil {
			return
		}
		found++
		query := s.Subselect.GetSelectStmt()
		other, own := tableOf(query.GetFromClause())
		if s.SubLinkType != pg.SubLinkType_EXPR_SUBLINK || other == nil || other.Relname != table.Relname ||
			other.Schemaname != table.Schemaname || len(query.TargetList) != 1 {
			return
		}
		call := query.TargetList[0].GetResTarget().GetVal()
		if window = rankOf(query, own, alias, units); window != "" && nameOf(call) == "count" && call.GetFuncCall().AggStar {
			n.Node = columnNamed("before").Node
		}
	})
	if window == "" || found != 1 || hasSubLink(out) {
		return
	}
	inner, err := pg.Parse("SELECT *, rank() OVER (" + window + ") - 1 AS before FROM " + tableAs(table, alias))
	if err != nil {
		return
	}
	out.FromClause = []*pg.Node{{Node: &pg.Node_RangeSubselect{RangeSubselect: &pg.RangeSubselect{
		Subquery: inner.Stmts[0].Stmt, Alias: &pg.Alias{Aliasname: alias},
	}}}}
	i.add("%s", selectSQL(out))
}

// rankOf returns the window whose rank counts the rows of a unit before each row, "" if a query asks for other rows.
func rankOf(query *pg.SelectStmt, own, alias string, units map[string]bool) string {
	list := pgtree.Conjuncts(query.WhereClause)
	if len(list) != 2 || own == alias {
		return ""
	}
	partition, order := "", ""
	for _, c := range list {
		e := c.GetAExpr()
		name := columnOf(e.GetLexpr())
		if name == "" || name != columnOf(e.GetRexpr()) || of(own, e.Lexpr) == of(own, e.Rexpr) ||
			of(alias, e.Lexpr) == of(alias, e.Rexpr) {
			return ""
		}
		switch operator := pgtree.OperatorName(e); {
		case operator == "=" && units[name]:
			partition = ast.QuoteIdent(name)
		case operator == "<" && of(own, e.Lexpr), operator == ">" && of(own, e.Rexpr):
			order = ast.QuoteIdent(name)
		case operator == ">" || operator == "<":
			order = ast.QuoteIdent(name) + " DESC"
		}
	}
	if partition == "" || order == "" {
		return ""
	}
	return "PARTITION BY " + partition + " ORDER BY " + order
}

// parent joins a public table if each value of a column without bounds is a key of this table: the bounds of the key are public.
func (i beside) parent(sel *pg.SelectStmt, own *ownColumn) {
	table, alias := tableOf(sel.FromClause)
	if table == nil || table.Relname != own.table.Relname || table.Schemaname != own.table.Schemaname {
		return
	}
	r, _ := i.cat.Relation(table.Schemaname, table.Relname)
	place := strings.Split(r.Parents[own.column], ".")
	if len(place) != 3 || place[1] == alias {
		return
	}
	to, known := i.cat.Relation(place[0], place[1])
	if !known || to.Protected || to.View != "" || !slices.Contains(to.Unique, place[2]) {
		return
	}
	key := ast.QuoteIdent(place[1]) + "." + ast.QuoteIdent(place[2])
	out := clone(sel)
	var refs []*pg.Node
	everyNodeOf(out, func(n *pg.Node) {
		if path := columnPath(n); len(path) > 0 && slices.Contains(r.Columns, path[len(path)-1]) {
			refs = append(refs, n)
		}
	})
	if hasSubLink(out) {
		return
	}
	for _, n := range refs {
		if name := columnOf(n); name == own.column {
			replaceBy(n, key)
		} else {
			replaceBy(n, ast.QuoteIdent(alias)+"."+ast.QuoteIdent(name))
		}
	}
	joined := &pg.RangeVar{Relname: place[1], Inh: true, Relpersistence: "p"}
	if table.Schemaname != "" {
		joined.Schemaname = place[0]
	}
	out.FromClause = []*pg.Node{{Node: &pg.Node_JoinExpr{JoinExpr: &pg.JoinExpr{
		Jointype: pg.JoinType_JOIN_INNER, Larg: out.FromClause[0], Rarg: &pg.Node{Node: &pg.Node_RangeVar{RangeVar: joined}},
		Quals: parsed(key + " = " + ast.QuoteIdent(alias) + "." + ast.QuoteIdent(own.column)),
	}}}}
	i.add("%s", selectSQL(out))
}
