package parser

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// rows converts a query below the block; location is where to point at in doubt.
func (v *queryConverter) rows(sel *pg.SelectStmt, location int32) ast.Rows {
	level := v.a.levels[sel]
	switch {
	case level == nil:
		v.notAllowed(location, "this query")
		return nil
	case v.depth >= maxLevels:
		v.tooLarge(location)
		return nil
	}
	if at := selectLocation(sel); at >= 0 {
		location = at
	}
	if level.kind == released {
		v.fail(pgerr.New(pgerr.Ownership, "a query over protected rows uses the result of another one").At(v.a.pos(location)).
			WithHint("Group the inner query by the column of the privacy unit, or combine the two results above their aggregates."))
		return nil
	}
	v.tail(sel, location)
	below := &queryConverter{conversion: v.conversion, level: level, depth: v.depth + 1, each: &each{scope: level.scope}}
	switch {
	case len(sel.ValuesLists) > 0:
		v.forbid(location, "VALUES", "Write a list with IN, or keep the values in a table.")
		return nil
	case sel.Op > pg.SetOperation_SETOP_NONE:
		return below.union(sel, location)
	}
	return below.query(sel, location)
}

func (v *queryConverter) union(sel *pg.SelectStmt, location int32) ast.Rows {
	if sel.Op != pg.SetOperation_SETOP_UNION && !sel.All && oneColumn(sel.Larg) && oneColumn(sel.Rarg) {
		return v.compared(sel, location)
	}
	if sel.Op != pg.SetOperation_SETOP_UNION || !sel.All {
		v.forbid(location, strings.TrimPrefix(sel.Op.String(), "SETOP_")+" below an aggregate",
			"Write UNION ALL, or IN (SELECT ...) and NOT EXISTS (SELECT ...) on the column of the privacy unit.")
		return nil
	}
	out := &ast.UnionAll{Left: v.rows(sel.Larg, location), Right: v.rows(sel.Rarg, location)}
	out.At = v.a.pos(location)
	return out
}

// oneColumn reports whether the rows of a query have one column.
func oneColumn(sel *pg.SelectStmt) bool {
	for sel.GetLarg() != nil {
		sel = sel.Larg
	}
	return len(sel.GetTargetList()) == 1 && !pgtree.IsStar(sel.TargetList[0].GetResTarget().GetVal())
}

// compared converts INTERSECT and EXCEPT of one column: the different values of the left side that are, or are not, among those
// of the right. As DISTINCT the planner takes it of values alone that tell whose a row is, which are never NULL.
func (v *queryConverter) compared(sel *pg.SelectStmt, location int32) ast.Rows {
	const left, right, name = "dp$left", "dp$right", "value"
	at := v.a.pos(location)
	column := func(of string) *ast.Column { return &ast.Column{Qualifier: of, Name: name, At: at} }
	side := func(query *pg.SelectStmt, alias string) ast.From {
		return &ast.Derived{Query: v.rows(query, location), Alias: alias, Columns: []string{name}, At: at}
	}
	out := &ast.Select{Distinct: true, From: side(sel.Larg, left), At: at}
	out.Targets = []ast.Target{{X: column(left), Name: firstName(sel), At: at}}
	out.Where = &ast.Exists{At: at, Alike: true, Query: &ast.Select{
		From: side(sel.Rarg, right), Where: &ast.Op{Name: "=", Left: column(right), Right: column(left), At: at}, At: at,
	}}
	if sel.Op == pg.SetOperation_SETOP_EXCEPT {
		out.Where = &ast.Bool{Kind: ast.Not, Args: []ast.Expr{out.Where}, At: at}
	}
	return out
}

// firstName is the name of the first column of a query.
func firstName(sel *pg.SelectStmt) string {
	for sel.GetLarg() != nil {
		sel = sel.Larg
	}
	name, _ := pgtree.OutputName(sel.TargetList[0].GetResTarget())
	return name
}

// tail refuses clauses by which which rows there are would depend on rows that do not belong together. The order
// of rows means nothing below an aggregate.
func (v *queryConverter) tail(sel *pg.SelectStmt, location int32) {
	const above = "Leave it out here; it can stand above the aggregate."
	switch {
	case !v.unlimited(sel) || !v.fromFirst(sel.LimitOffset):
		v.forbid(location, "LIMIT or OFFSET below an aggregate", above)
	case len(sel.LockingClause) > 0:
		v.forbid(location, "FOR UPDATE or FOR SHARE", "Leave it out.")
	case !pgtree.IsDistinctOn(sel) && slices.ContainsFunc(sel.SortClause, computes):
		v.forbid(location, "ORDER BY an expression below an aggregate", "Leave ORDER BY out: the order means nothing here.")
	}
}

// unlimited reports whether LIMIT leaves out no row that matters: LIMIT ALL, and LIMIT 1 or
// more where only the existence of rows is asked for.
func (v *queryConverter) unlimited(sel *pg.SelectStmt) bool {
	if sel.LimitCount == nil || sel.LimitCount.GetAConst().GetIsnull() {
		return true
	}
	n, ok := pgtree.Position(sel.LimitCount)
	return ok && n >= 1 && sel == v.exists
}

// fromFirst reports whether OFFSET skips nothing: OFFSET 0, and a parameter, of which
// the block notes that it must be 0.
func (v *queryConverter) fromFirst(offset *pg.Node) bool {
	if offset == nil || offset.GetAConst().GetIsnull() {
		return true
	}
	if offset.GetParamRef() != nil {
		v.offsets = append(v.offsets, exprConverter{v, false}.expr(offset))
		return true
	}
	n, ok := pgtree.Position(offset)
	return ok && n == 0
}

// computes reports an item of ORDER BY that is no column and no position. It could change the
// rows themselves: an aggregate groups them, and a function can return several.
func computes(n *pg.Node) bool {
	by := n.GetSortBy().GetNode()
	_, number := pgtree.Position(by)
	return by.GetColumnRef() == nil && !number
}

// selectLocation is where the targets of a query begin, -1 if it has none.
func selectLocation(sel *pg.SelectStmt) int32 {
	for sel.GetLarg() != nil {
		sel = sel.Larg
	}
	switch {
	case len(sel.GetTargetList()) > 0:
		return sel.TargetList[0].GetResTarget().GetLocation()
	case len(sel.GetValuesLists()) > 0:
		return pgtree.FirstLocation(sel.ValuesLists[0])
	}
	return -1
}

// query converts a SELECT below the block.
func (v *queryConverter) query(sel *pg.SelectStmt, location int32) *ast.Select {
	out := &ast.Select{Distinct: pgtree.IsDistinct(sel), At: v.a.pos(location)}
	out.From = v.from(sel)
	if len(sel.FromClause) == 0 {
		out.From = v.selectedSeries(sel.TargetList)
	} else if !pgtree.IsAggregated(sel) {
		out.From = v.selectedElements(out.From, selected(sel))
	}
	if sel.WhereClause != nil {
		out.Where = condition{exprConverter{v, false}}.where(sel.WhereClause)
	}
	group := exprConverter{v, pgtree.IsAggregated(sel)}
	if group.grouped && (!v.each.repeated || len(sel.GroupClause) > 0) { // one group can have columns of the row around
		out.Groups = v.groups(sel)
	}
	v.windows = &windowClause{sel}
	for _, n := range sel.TargetList {
		out.Targets = append(out.Targets, group.target(n.GetResTarget()))
	}
	v.windows = nil
	if pgtree.IsDistinctOn(sel) {
		v.first(out, sel, location)
	}
	if sel.HavingClause != nil {
		out.Having = group.expr(sel.HavingClause)
	}
	return out
}

// groups converts GROUP BY below the block, and refuses columns that are neither grouped nor aggregated.
func (v *queryConverter) groups(sel *pg.SelectStmt) []ast.Expr {
	g, err := groupClause{v.a, sel, v.level.scope}.grouping()
	if err != nil {
		v.fail(err)
		return nil
	}
	if set := slices.IndexFunc(sel.GroupClause, isGroupingSet); set >= 0 {
		v.notYet(sel.GroupClause[set].GetGroupingSet().Location, "grouping sets below an aggregate", "Use them in the outermost GROUP BY.")
		return nil
	}
	m := v.level.matcher
	if m == nil {
		m = match(&candidate{sel: sel, scope: v.level.scope, groups: g, outputs: outputNames(sel)})
		v.level.matcher = m
	}
	if m.exhausted() {
		v.tooLarge(selectLocation(sel))
		return nil
	}
	v.strays(m)
	for _, n := range m.groupNodes {
		if n.GetAConst() != nil {
			v.notAllowed(n.GetAConst().Location, "a constant in GROUP BY")
		}
	}
	return exprConverter{v, false}.exprs(m.groupNodes)
}

func (v exprConverter) target(t *pg.ResTarget) ast.Target {
	out := ast.Target{At: v.a.pos(t.GetLocation())}
	if !pgtree.IsStar(t.GetVal()) {
		name, known := pgtree.OutputName(t)
		if !known {
			v.notYet(t.GetLocation(), "a sub-select of *", "Name its column.")
		}
		out.Name, out.X = name, v.expr(t.GetVal())
		return out
	}
	names, _ := pgtree.Strings(t.Val.GetColumnRef().GetFields())
	switch {
	case t.Val.GetColumnRef() == nil || len(names) > 1:
		v.notAllowed(t.Location, "* of a value or of a table with its schema")
	case len(names) == 1:
		out.Qualifier = names[0]
	}
	return out
}

// subLink converts a sub-select in an expression.
func (v exprConverter) subLink(s *pg.SubLink) ast.Expr {
	sel := s.Subselect.GetSelectStmt()
	operator := operatorOf(s)
	if _, limited := pgtree.Position(sel.GetLimitCount()); limited {
		if x := v.each.quantified(v, s, sel, operator); x != nil { // with the first rows of each row around
			return x
		}
	}
	switch {
	case s.SubLinkType == pg.SubLinkType_EXISTS_SUBLINK:
		v.exists = sel
		return &ast.Exists{Query: v.rows(sel, s.Location), At: v.a.pos(s.Location)}
	case s.SubLinkType == pg.SubLinkType_ANY_SUBLINK && operator == "=" && constantList(sel) != nil:
		return v.inValues(s, constantList(sel))
	case s.SubLinkType == pg.SubLinkType_ALL_SUBLINK && operator == "<>" && constantList(sel) != nil:
		return &ast.Bool{Kind: ast.Not, Args: []ast.Expr{v.inValues(s, constantList(sel))}, At: v.a.pos(s.Location)}
	case v.wanted[s] && s.SubLinkType == pg.SubLinkType_ANY_SUBLINK && operator == "=" && condition{v}.rowsLike(s, sel):
		return condition{v}.rowIn(s, sel)
	case s.Testexpr.GetRowExpr() != nil:
		v.forbid(s.Location, "a row beside a sub-select", "Write EXISTS (SELECT ... WHERE x = a AND y = b).")
		return nil
	case s.SubLinkType == pg.SubLinkType_ANY_SUBLINK && operator == "=":
		return &ast.InQuery{X: v.expr(s.Testexpr), Query: v.rows(sel, s.Location), At: v.a.pos(s.Location)}
	case s.SubLinkType == pg.SubLinkType_ALL_SUBLINK && operator == "<>":
		return &ast.InQuery{X: v.expr(s.Testexpr), Query: v.rows(sel, s.Location), Not: true, At: v.a.pos(s.Location)}
	case s.SubLinkType == pg.SubLinkType_EXPR_SUBLINK:
		if x := v.each.valueQuery(v, s, sel); x != nil {
			return x
		}
		return v.subquery(s, sel)
	}
	if x := v.each.quantified(v, s, sel, operator); x != nil {
		return x
	}
	return v.notAllowed(s.Location, "this sub-select")
}

// operatorOf is the operator between an expression and a sub-select, which IN does not write; "" if it is none of pg_catalog.
func operatorOf(s *pg.SubLink) string {
	names, _ := pgtree.Strings(s.OperName)
	switch {
	case len(names) > 0:
		return pgtree.BuiltIn(names)
	case s.SubLinkType == pg.SubLinkType_ANY_SUBLINK:
		return "="
	}
	return ""
}

// subquery keeps the client's text of a sub-select that the mirror can answer by itself.
func (v exprConverter) subquery(s *pg.SubLink, sel *pg.SelectStmt) ast.Expr {
	level := v.a.levels[sel]
	if level == nil {
		return v.notAllowed(s.Location, "this sub-select")
	}
	if level.reason != "" {
		v.fail(v.noValue(s, level))
		return nil
	}
	i := v.a.l.toks.IndexAt(v.a.offsetOf(s.Location))
	end := v.a.l.brackets(i)
	if end < 0 {
		return v.notAllowed(s.Location, "this sub-select")
	}
	text := v.a.l.between(i, end)
	return &ast.Subquery{Text: v.a.l.text[text.Start:text.End], At: v.a.pos(s.Location)}
}

// noValue refuses a sub-select that the mirror cannot answer by itself.
func (v *conversion) noValue(s *pg.SubLink, level *level) *pgerr.Error {
	return pgerr.New(pgerr.FeatureNotSupported, "a sub-select %s cannot be a value for protected rows", level.reason).
		At(v.a.pos(s.Location)).
		WithHint("Join with it (GROUP BY the column of the privacy unit), or compute the value first and write it as a literal.")
}
