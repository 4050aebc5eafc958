package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// Rows that nothing protected decides are known before a statement is planned: the mirror has them all. A query of such rows that a join
// with protected rows cannot have as it is written, as it groups, limits, ranks or unites them, or reads a temporary table or a view, is
// bound as a released result is, and its rows are constants.

// constantItem notes an item of FROM of public rows, if it is to be constants.
func (s *seeker) constantItem(n *pg.Node, c *cte) {
	switch x := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		s.settle(c)
		switch {
		case c != nil && (s.all || c.selfRead || s.isComputed(c.node.Ctequery.GetSelectStmt())):
			s.with(c)
		case c == nil && s.isForeign(x.RangeVar):
			s.table(x.RangeVar)
		}
	case *pg.Node_RangeSubselect:
		sel := x.RangeSubselect.Subquery.GetSelectStmt()
		if level := s.levels[sel]; level != nil && level.scope.escape < 0 && (s.all || s.isComputed(sel)) {
			s.relation(sel, AsRows)
		}
	}
}

// constantQuery notes a sub-select of public rows in a condition, between two tokens that are brackets, if it is to be constants.
func (s *seeker) constantQuery(x *pg.SubLink, l *level, open, end int) {
	sel := x.Subselect.GetSelectStmt()
	if l.scope.escape >= 0 { // or so it seems, as nobody knows the columns of a table
		if x.SubLinkType == pg.SubLinkType_EXPR_SUBLINK && end >= 0 && len(sel.TargetList) == 1 && isNullOfNone(sel.TargetList[0]) {
			s.byGroup(sel, l.scope, open, end)
		}
		for _, n := range sel.FromClause {
			s.item(n)
		}
		return
	}
	switch x.SubLinkType {
	case pg.SubLinkType_ANY_SUBLINK, pg.SubLinkType_ALL_SUBLINK:
		if op := operatorOf(x); op != "=" && op != "<>" {
			s.relation(sel, AsArray)
			return
		}
		as := AsList
		if x.Testexpr.GetRowExpr() != nil {
			as = AsRows
		}
		if constantList(sel) == nil && (s.all || s.isComputed(sel) && (as == AsRows || !s.unitesSelections(sel))) {
			s.relation(sel, as)
		}
	case pg.SubLinkType_EXPR_SUBLINK:
		if (s.all || l.reason != "") && end >= 0 { // it reads a WITH query of the statement; else it is a constant as it is
			s.add(AsValue, s.l.between(open, end), x.Subselect)
		}
	case pg.SubLinkType_ARRAY_SUBLINK:
		s.array(x, l, open)
	case pg.SubLinkType_SUB_LINK_TYPE_UNDEFINED, pg.SubLinkType_EXISTS_SUBLINK, pg.SubLinkType_ROWCOMPARE_SUBLINK,
		pg.SubLinkType_MULTIEXPR_SUBLINK, pg.SubLinkType_CTE_SUBLINK:
	}
}

// settle notes the WITH queries that would be evaluated twice, of one and those that it reads.
func (s *seeker) settle(c *cte) {
	if c == nil {
		return
	}
	around, _ := s.around(c.node.Ctequery, []*cte{c})
	for _, of := range around {
		if of.result.kind == public && s.isEvaluatedTwice(of) {
			s.with(of)
		}
	}
}

// isEvaluatedTwice reports whether a WITH query has a sub-select, whose value may be another one each time, and is read by a query without
// protected rows as well: the block would have one value, and the statement around it another.
func (s *seeker) isEvaluatedTwice(c *cte) bool {
	computes := false
	pgtree.Every(c.node.Ctequery, func(n *pg.Node) { computes = computes || isSubLink(n) })
	if !computes {
		return false
	}
	inside := map[*pg.RangeVar]bool{}
	pgtree.Every(s.stmt, func(n *pg.Node) {
		if sel := n.GetSelectStmt(); sel != nil && slices.ContainsFunc(sel.FromClause, s.rows) {
			for _, item := range sel.FromClause {
				pgtree.Every(item, func(n *pg.Node) { inside[n.GetRangeVar()] = true })
			}
		}
	})
	for v, of := range s.cteRefs {
		if of == c && !inside[v] {
			return true
		}
	}
	return false
}

// isPublic reports whether a query reads public rows alone.
func (s *seeker) isPublic(query *pg.Node) bool {
	level := s.levels[query.GetSelectStmt()]
	return level != nil && level.kind == public
}

// isComputed reports whether a query of public rows is more than a selection of rows of tables and of constants.
func (s *seeker) isComputed(sel *pg.SelectStmt) bool {
	if sel == nil || len(sel.ValuesLists) > 0 && constantRowsAlone(sel) || isOneRow(sel) {
		return false
	}
	if values, _ := constantRows(sel); values != nil {
		return false
	}
	return sel.Op > pg.SetOperation_SETOP_NONE || len(sel.DistinctClause) > 0 || s.isMoreThanRows(sel)
}

// isMoreThanRows reports whether a query aggregates, ranks or limits rows, or reads rows that are computed.
func (s *seeker) isMoreThanRows(sel *pg.SelectStmt) bool {
	more := sel.WithClause != nil || len(sel.ValuesLists) > 0 || pgtree.IsAggregated(sel) ||
		sel.LimitCount != nil || sel.LimitOffset != nil || len(sel.WindowClause) > 0 || slices.ContainsFunc(sel.SortClause, computes)
	for _, n := range sel.TargetList {
		pgtree.Every(n.GetResTarget().GetVal(), func(m *pg.Node) { more = more || pgtree.IsWindowCall(m) })
	}
	return more || slices.ContainsFunc(sel.FromClause, s.isComputedItem)
}

// unitesSelections reports whether a query is a selection, of different rows perhaps, or several united: IN has it as it is
// written.
func (s *seeker) unitesSelections(sel *pg.SelectStmt) bool {
	if sel.Op > pg.SetOperation_SETOP_NONE {
		bare := &pg.SelectStmt{Op: sel.Op, All: sel.All, Larg: sel.Larg, Rarg: sel.Rarg, LimitOption: sel.LimitOption}
		return proto.Equal(bare, sel) && s.unitesSelections(sel.Larg) && s.unitesSelections(sel.Rarg)
	}
	on := slices.ContainsFunc(sel.DistinctClause, func(n *pg.Node) bool { return n.GetNode() != nil })
	return !on && len(sel.FromClause) > 0 && !s.isMoreThanRows(sel)
}

// constantRowsAlone reports whether VALUES has no clause but its rows.
func constantRowsAlone(sel *pg.SelectStmt) bool {
	return sel.WithClause == nil && sel.LimitCount == nil && sel.LimitOffset == nil && len(sel.SortClause) == 0
}

// isComputedItem reports likewise of an item of FROM.
func (s *seeker) isComputedItem(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_JoinExpr:
		return s.isComputedItem(x.JoinExpr.Larg) || s.isComputedItem(x.JoinExpr.Rarg)
	case *pg.Node_RangeVar:
		if c := s.cteRefs[x.RangeVar]; c != nil {
			return c.selfRead || s.isComputed(c.node.Ctequery.GetSelectStmt())
		}
		return s.isForeign(x.RangeVar)
	case *pg.Node_RangeSubselect:
		return s.isComputed(x.RangeSubselect.Subquery.GetSelectStmt())
	case *pg.Node_RangeFunction:
		return pgtree.ConstantCall(x.RangeFunction) != nil
	}
	return false
}

// isForeign reports whether a relation is no table of the policy: a temporary table, which the session knows alone, or a view. Tables of
// the local model and those that dpproxy fills by itself are read by themselves.
func (s *seeker) isForeign(r *pg.RangeVar) bool {
	if !r.Inh || r.Schemaname == "local" || r.Schemaname == "dp" || r.Catalogname != "" {
		return false
	}
	known, ok := s.cat.Relation(r.Schemaname, r.Relname)
	return !ok || known.Derived
}

// table notes a table whose rows are constants in its place.
func (s *seeker) table(r *pg.RangeVar) {
	i := s.l.toks.IndexAt(s.offsetOf(r.Location))
	if i < 0 {
		return
	}
	name := s.own(s.l.between(i, s.l.toks.Dotted(i)))
	f := finding{as: AsTable, span: name, public: true, text: []passage{{words: "SELECT * FROM "}, {span: name}}}
	if r.Alias == nil {
		f.alias = r.Relname
	}
	if !slices.ContainsFunc(s.found, func(g finding) bool { return g.span == f.span }) {
		s.found = append(s.found, f)
	}
}

// recursion notes the rows of a recursive WITH query of public rows.
func (s *seeker) recursion(c *cte, body Span) {
	whole, ok := s.l.withQuery(c.node)
	around, known := s.around(c.node.Ctequery, []*cte{c})
	if !ok || !known || c.result.kind != public || len(around) > 1 || c.node.SearchClause != nil || c.node.CycleClause != nil {
		return
	}
	f := finding{as: AsRows, span: s.own(body), public: true, text: []passage{
		{words: "WITH RECURSIVE "}, {span: s.own(whole)}, {words: " SELECT * FROM " + ast.QuoteIdent(c.node.Ctename)},
	}}
	if !slices.ContainsFunc(s.found, func(g finding) bool { return g.span == f.span }) {
		s.found = append(s.found, f)
	}
}

// The rows of a function in FROM whose arguments no row decides are known as well.

// boundFunction notes a function in FROM whose rows are constants in its place; false if it is none.
func boundFunction(s *seeker, x *pg.RangeFunction) bool {
	protected := func(n *pg.Node) bool { return readsProtected(s, n) }
	call := pgtree.ConstantCall(x)
	if call == nil || slices.ContainsFunc(call.Args, protected) {
		return false
	}
	toks := s.l.toks
	from := toks.IndexAt(s.offsetOf(call.Location))
	if from < 0 {
		return false
	}
	end := toks.Brackets(toks.Dotted(from))
	if end < 0 {
		return false
	}
	if x.Ordinality {
		end += len([]string{"WITH", "ORDINALITY"})
	}
	whole := end
	if x.Alias != nil || len(x.Coldeflist) > 0 {
		if toks.Kind(whole) == pg.Token_AS {
			whole++
		}
		if toks.Kind(whole) != lex.OpenParen {
			whole = toks.Name(whole)
		}
		if toks.Kind(whole) == lex.OpenParen {
			whole = toks.Brackets(whole)
		}
	}
	f := finding{as: AsTable, public: true, span: s.own(s.l.between(from, end))}
	f.text = []passage{{words: "SELECT * FROM "}, {span: s.own(s.l.between(from, whole))}}
	if _, name := pgtree.Callee(call); x.Alias == nil {
		f.alias = name
	} else if len(x.Coldeflist) > 0 { // the columns are those of the result
		f.span, f.alias = f.text[1].span, x.Alias.Aliasname
	}
	if !slices.ContainsFunc(s.found, func(g finding) bool { return g.span == f.span }) {
		s.found = append(s.found, f)
	}
	return true
}

// readsProtected reports whether an expression has a sub-select that does not read public rows alone, or reads a row around it.
func readsProtected(s *seeker, n *pg.Node) (reads bool) {
	pgtree.Every(n, func(m *pg.Node) {
		if sel := m.GetSubLink().GetSubselect(); sel != nil {
			level := s.levels[sel.GetSelectStmt()]
			reads = reads || level == nil || level.kind != public || level.scope.escape >= 0
		}
	})
	return reads
}
