package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// A seeker looks for the results that a statement uses. Whether each can be released, and the body that is left, is seen
// when they are parsed by themselves.
type seeker struct {
	*analysis

	text  string // of the client
	stmt  *pg.Node
	all   bool // all queries of public rows are to be constants, also those that a block could have as they are written
	found []finding
	lost  bool // one of them stands in a view
}

// A finding is the place of a result, before others are looked for in the text of its query.
type finding struct {
	as   As
	span Span
	keys []string
	text []passage

	ranking *Ranking
	public  bool
	alias   string
}

// end is where its text and its place end: what stands in its text ends before.
func (f finding) end() int {
	end := f.span.End
	for _, p := range f.text {
		end = max(end, p.span.End)
	}
	return end
}

// A passage is a part of a text: one of the client's statement, or words of our own.
type passage struct {
	words string
	span  Span
}

// seek returns the statement as a Let, its views expanded, with all queries of public rows or those alone that cannot be as they are
// written; nil if it uses no results. It is of use if the statement is refused as it is.
func seek(a *analysis, text string, stmt *pg.Node, all bool) *Let {
	if len(a.protected) == 0 || len(a.views) > 0 || len(a.levels) < 2 && !a.foreign { // what uses a result has a query below it
		return nil
	}
	s := seeker{analysis: a, text: text, stmt: stmt, all: all}
	pgtree.Every(stmt, func(n *pg.Node) {
		if sel := n.GetSelectStmt(); sel != nil && a.levels[sel] != nil && slices.ContainsFunc(sel.FromClause, s.rows) {
			s.query(sel)
			s.ranked(sel)
		}
	})
	if s.lost || len(s.found) == 0 || len(s.found) > maxPlaces {
		return nil
	}
	return s.bind()
}

// bind makes one binding of findings that ask for the same, and has each come after those whose results stand in its text; nil if one is
// used before.
func (s *seeker) bind() *Let {
	slices.SortStableFunc(s.found, func(x, y finding) int { return x.end() - y.end() })
	l, bound, known := &Let{}, []int{}, map[string]int{}
	for i, f := range s.found {
		b := Binding{As: f.as, Public: f.public, Alias: f.alias, Keys: f.keys, Ranking: f.ranking, at: f.span.Start}
		for _, g := range f.text {
			if g.words != "" {
				b.query = append(b.query, segment{words: g.words, at: -1, hole: -1})
			}
			inside := s.outermost(g.span, i)
			if slices.ContainsFunc(inside, func(j int) bool { return j > i }) {
				return nil
			}
			b.query = append(b.query, s.template(g.span, inside, bound)...)
		}
		n, twice := known[b.id()]
		if !twice {
			n = len(l.Bindings)
			known[b.id()], l.Bindings = n, append(l.Bindings, b)
		}
		bound = append(bound, n)
	}
	whole := Span{0, len(s.text)}
	l.body = s.template(whole, s.outermost(whole, -1), bound)
	return l
}

// template is a part of the statement, with holes in the places of findings.
func (s *seeker) template(of Span, places, bound []int) (t template) {
	at := of.Start
	for _, j := range places {
		place := s.found[j].span
		t = append(t, segment{s.text[at:place.Start], at, bound[j], place.Start})
		at = place.End
	}
	return append(t, segment{words: s.text[at:of.End], at: at, hole: -1})
}

// outermost lists the findings in a part of the text that stand in no other one there, in text order, without one.
func (s *seeker) outermost(in Span, without int) (list []int) {
	holds := func(x, y Span) bool { return x.Start <= y.Start && y.End <= x.End }
	for i, f := range s.found {
		covered := false
		for j, g := range s.found {
			covered = covered || j != i && j != without && holds(in, g.span) && holds(g.span, f.span)
		}
		if i != without && !covered && holds(in, f.span) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(i, j int) int { return s.found[i].span.Start - s.found[j].span.Start })
	return list
}

// clients is where a part of the analysed text that stands in brackets, or begins and ends with tokens, is in the client's.
func (s *seeker) clients(in Span) (Span, bool) {
	l := s.l
	own := func(at int) bool { return at >= 0 && at < len(l.text) && l.origin.stretch(at).own }
	var out Span
	switch {
	case own(in.Start):
		out.Start = l.client(in.Start)
	case own(in.Start - 1):
		out.Start = l.client(in.Start-1) + 1
	default:
		return out, false
	}
	switch {
	case own(in.End - 1):
		out.End = l.client(in.End-1) + 1
	case own(in.End):
		out.End = l.client(in.End)
	default:
		return out, false
	}
	return out, out.Start < out.End
}

// own is [seeker.clients] of a part without which the statement is no Let.
func (s *seeker) own(in Span) Span {
	out, ok := s.clients(in)
	if !ok {
		s.lost = true
		return Span{}
	}
	return out
}

// kindOf returns the kind of an item of FROM that is no join, and the WITH query that it is.
func (s *seeker) kindOf(item *pg.Node) (kind, *cte) {
	switch x := item.GetNode().(type) {
	case *pg.Node_RangeVar:
		if c := s.cteRefs[x.RangeVar]; c != nil {
			return c.result.kind, c
		}
		if r, ok := s.cat.Relation(x.RangeVar.Schemaname, x.RangeVar.Relname); ok && r.Protected {
			return rows, nil
		}
	case *pg.Node_RangeSubselect:
		if level := s.levels[x.RangeSubselect.Subquery.GetSelectStmt()]; level != nil {
			return level.kind, nil
		}
	}
	return public, nil
}

// rows reports whether an item of FROM has protected rows.
func (s *seeker) rows(item *pg.Node) bool {
	if j := item.GetJoinExpr(); j != nil {
		return s.rows(j.Larg) || s.rows(j.Rarg)
	}
	k, _ := s.kindOf(item)
	return k == rows
}

// query looks through a query of protected rows: its FROM, its conditions, and the arguments of its aggregates.
func (s *seeker) query(sel *pg.SelectStmt) {
	for _, n := range sel.FromClause {
		s.item(n)
	}
	s.condition(sel.WhereClause)
	look := s.arguments
	if s.levels[sel].kind == rows { // below a block nothing is above aggregates
		look = s.condition
	}
	for _, n := range slices.Concat(sel.TargetList, []*pg.Node{sel.HavingClause}, sel.SortClause) {
		look(n)
	}
}

func (s *seeker) item(n *pg.Node) {
	if j := n.GetJoinExpr(); j != nil {
		s.item(j.Larg)
		s.item(j.Rarg)
		s.condition(j.Quals)
		return
	}
	if f := n.GetRangeFunction(); f != nil {
		if !boundFunction(s, f) {
			pgtree.Children(n, s.condition)
		}
		return
	}
	k, c := s.kindOf(n)
	if k == public {
		s.constantItem(n, c)
		return
	}
	switch {
	case k != released:
	case c != nil:
		s.with(c)
	case !n.GetRangeSubselect().Lateral:
		s.relation(n.GetRangeSubselect().Subquery.GetSelectStmt(), AsRows)
	}
}

// with notes the query of a WITH query, and reports whether it is one that is noted.
func (s *seeker) with(c *cte) bool {
	span, ok := s.l.body(c.node)
	if !ok || c.escape >= 0 {
		return false
	}
	if c.selfRead {
		s.recursion(c, span)
	} else {
		s.add(AsRows, span, c.node.Ctequery)
	}
	own := s.own(span)
	return slices.ContainsFunc(s.found, func(f finding) bool { return f.span == own })
}

// relation notes a sub-select of rows.
func (s *seeker) relation(sel *pg.SelectStmt, as As) {
	if span, ok := s.l.enclosed(sel); ok && s.levels[sel].scope.escape < 0 {
		s.add(as, span, &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}})
	}
}

// arguments looks into aggregates alone: what stands above them may read released values.
func (s *seeker) arguments(n *pg.Node) {
	if n == nil || n.GetSelectStmt() != nil || n.GetSubLink() != nil {
		return
	}
	if pgtree.IsAggregate(n) {
		pgtree.Children(n, s.condition)
		return
	}
	pgtree.Children(n, s.arguments)
}

// condition looks for sub-selects in an expression.
func (s *seeker) condition(n *pg.Node) {
	if n == nil || n.GetSelectStmt() != nil {
		return
	}
	x := n.GetSubLink()
	if x == nil {
		pgtree.Children(n, s.condition)
		return
	}
	sel := x.Subselect.GetSelectStmt()
	level := s.levels[sel]
	i := s.l.toks.IndexAt(s.offsetOf(x.Location))
	end := s.l.brackets(i)
	switch {
	case level != nil && level.kind == public:
		s.constantQuery(x, level, i, end)
	case level == nil || level.kind != released:
	case x.SubLinkType == pg.SubLinkType_ANY_SUBLINK, x.SubLinkType == pg.SubLinkType_ALL_SUBLINK:
		s.relation(sel, AsList)
	case x.SubLinkType == pg.SubLinkType_ARRAY_SUBLINK:
		s.array(x, level, i)
	case x.SubLinkType != pg.SubLinkType_EXPR_SUBLINK || end < 0:
	case level.scope.escape < 0:
		s.add(AsValue, s.l.between(i, end), x.Subselect)
	default:
		s.byGroup(sel, level.scope, i, end)
	}
}

// array notes the value of ARRAY (SELECT ...), which begins with a token.
func (s *seeker) array(x *pg.SubLink, l *level, begin int) {
	end := s.l.brackets(begin + 1)
	if end < 0 || l.scope.escape >= 0 {
		return
	}
	own := s.own(s.l.between(begin, end))
	text := []passage{{words: "(SELECT "}, {span: own}, {words: ")"}}
	s.note(finding{as: AsValue, span: own, text: text, public: s.isPublic(x.Subselect)}, x.Subselect)
}

// add notes a result whose query is the text of its place.
func (s *seeker) add(as As, span Span, query *pg.Node) {
	own := s.own(span)
	s.note(finding{as: as, span: own, text: []passage{{span: own}}, public: s.isPublic(query)}, query)
}

// note notes a result. Its query has the WITH queries around it that it reads: those that are released are bindings as well, and their
// results stand in it.
func (s *seeker) note(f finding, query *pg.Node) {
	around, ok := s.around(query, nil)
	if !ok || slices.ContainsFunc(s.found, func(g finding) bool { return g.span == f.span }) {
		return
	}
	if len(around) == 0 {
		s.found = append(s.found, f)
		return
	}
	slices.SortFunc(around, func(x, y *cte) int { return int(x.node.Location - y.node.Location) })
	var text []passage
	between := "WITH "
	if slices.ContainsFunc(around, func(c *cte) bool { return c.selfRead }) {
		between = "WITH RECURSIVE "
	}
	for _, c := range around {
		whole, ok := s.l.withQuery(c.node)
		s.lost = s.lost || !ok
		text = append(text, passage{words: between}, passage{span: s.own(whole)})
		between = ", "
	}
	open, end := " SELECT * FROM (", ") AS prior"
	if f.as == AsValue {
		open, end = " SELECT * FROM ", " AS prior"
	}
	f.text = slices.Concat(text, []passage{{words: open}}, f.text, []passage{{words: end}})
	s.found = append(s.found, f)
	for _, c := range around {
		if c.result.kind == released && !s.with(c) {
			s.lost = true
		}
	}
}

// around lists the WITH queries that a query reads and that are not its own, of those that are released without what they read
// themselves; false if one of them writes, as it would write once more for each that reads it, or is recursive, but of public rows.
func (s *seeker) around(query *pg.Node, have []*cte) ([]*cte, bool) {
	own := map[*pg.CommonTableExpr]bool{}
	pgtree.Every(query, func(n *pg.Node) {
		if c := n.GetCommonTableExpr(); c != nil {
			own[c] = true
		}
	})
	ok := true
	pgtree.Every(query, func(n *pg.Node) {
		c := s.cteRefs[n.GetRangeVar()]
		if c == nil || own[c.node] || slices.Contains(have, c) || !ok {
			return
		}
		recursive := c.selfRead && c.result.kind != public
		if have, ok = append(have, c), !recursive && c.node.Ctequery.GetSelectStmt() != nil; ok && c.result.kind != released {
			have, ok = s.around(c.node.Ctequery, have)
		}
	})
	return have, ok
}
