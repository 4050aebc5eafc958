package parser

import (
	"slices"
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
)

// A Prior is a query whose released result a block uses as if it were constants. It is answered before, as a
// statement of its own, and its result takes its place.
type Prior struct {
	// Form is what its result stands for.
	Form PriorForm
	// Uses are the Priors whose results stand in its text, by their places in the statement; all are before it.
	Uses []int

	// parts are its text, around the results that it uses.
	parts []string
	// lead is the length of the comments that it begins with.
	lead int
	// span is its place in the statement: of a value with its brackets.
	span Span
	// used are the places of Uses.
	used []Span
}

// PriorForm is what the result of a Prior stands for.
type PriorForm int

// The forms of a Prior.
const (
	PriorRows  PriorForm = iota // rows of a sub-select or of a WITH query
	PriorList                   // the values of IN (SELECT ...)
	PriorValue                  // one value
)

// SQL returns its text, with the results of the Priors of the statement that are before it.
func (p Prior) SQL(results []string) string {
	var b strings.Builder
	for i, part := range p.parts {
		b.WriteString(part)
		if i < len(p.Uses) {
			b.WriteString(results[p.Uses[i]])
		}
	}
	return b.String()
}

// Before returns where a byte of its text is in the statement.
func (p Prior) Before(at int) int {
	if at -= p.lead; len(p.parts) > 1 || at < 0 || p.span.Start+at >= p.span.End {
		return p.span.Start
	}
	return p.span.Start + at
}

// maxPriors bounds the queries that are answered before a statement.
const maxPriors = 4

// Priors are those of a statement, in text order.
type Priors []Prior

// With returns the text of the statement with other texts in their places: values, or queries.
func (ps Priors) With(text string, results []string) string {
	var b strings.Builder
	at := 0
	for i, p := range ps {
		b.WriteString(text[at:p.span.Start])
		b.WriteString(results[i])
		at = p.span.End
	}
	return b.String() + text[at:]
}

// Before returns where a byte of the text with results stood in the statement: in a result, where that takes its place.
func (ps Priors) Before(at int, results []string) int {
	moved := 0
	for i, p := range ps {
		start := p.span.Start + moved
		end := start + len(results[i])
		switch {
		case at < start:
			return at - moved
		case at < end:
			return p.span.Start
		}
		moved = end - p.span.End
	}
	return at - moved
}

// A seeker looks for the Priors of a statement. Whether each is answered, and the statement that is left, is seen
// when they are parsed by themselves.
type seeker struct {
	*analysis

	found []Prior
}

// priors lists those of a statement without views, in text order. They are of use where it is refused as it is.
func priors(a *analysis, stmt *pg.Node) []Prior {
	if len(a.protected) == 0 || len(a.views) > 0 || a.l.origin != nil {
		return nil
	}
	s := seeker{analysis: a}
	everyNode(stmt, func(n *pg.Node) {
		if sel := n.GetSelectStmt(); sel != nil && a.levels[sel] != nil && slices.ContainsFunc(sel.FromClause, s.rows) {
			s.query(sel)
		}
	})
	return s.inOrder()
}

// inOrder lists what was found in text order, without what stands inside another one; nothing if one of them is used by one before it.
func (s *seeker) inOrder() []Prior {
	slices.SortStableFunc(s.found, func(x, y Prior) int { return x.span.Start - y.span.Start })
	var out []Prior
	end := 0
	for _, p := range s.found {
		if p.span.Start < end {
			continue
		}
		for _, used := range p.used {
			i := slices.IndexFunc(out, func(q Prior) bool { return q.span == used })
			if i < 0 {
				return nil
			}
			p.Uses = append(p.Uses, i)
		}
		out, end = append(out, p), p.span.End
	}
	if len(out) > maxPriors {
		return nil
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
	for _, n := range slices.Concat(sel.TargetList, []*pg.Node{sel.HavingClause}, sel.SortClause) {
		s.arguments(n)
	}
}

func (s *seeker) item(n *pg.Node) {
	if j := n.GetJoinExpr(); j != nil {
		s.item(j.Larg)
		s.item(j.Rarg)
		s.condition(j.Quals)
		return
	}
	k, c := s.kindOf(n)
	switch {
	case k != released:
	case c != nil:
		s.with(c)
	case !n.GetRangeSubselect().Lateral:
		s.relation(n.GetRangeSubselect().Subquery.GetSelectStmt(), PriorRows)
	}
}

// with notes the query of a WITH query.
func (s *seeker) with(c *cte) {
	span, ok := s.l.body(c.node)
	if ok && c.escape < 0 && !slices.ContainsFunc(s.found, func(p Prior) bool { return p.span == span }) {
		s.add(Prior{span: span}, c.node.Ctequery)
	}
}

// relation notes a sub-select of rows.
func (s *seeker) relation(sel *pg.SelectStmt, form PriorForm) {
	if span, ok := s.l.enclosed(sel); ok && s.levels[sel].scope.escape < 0 {
		s.add(Prior{Form: form, span: span}, &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}})
	}
}

// arguments looks into aggregates alone: what stands above them may read released values.
func (s *seeker) arguments(n *pg.Node) {
	if n == nil || n.GetSelectStmt() != nil || n.GetSubLink() != nil {
		return
	}
	if isAggregate(n) {
		children(n, s.condition)
		return
	}
	children(n, s.arguments)
}

// condition looks for sub-selects in an expression.
func (s *seeker) condition(n *pg.Node) {
	if n == nil || n.GetSelectStmt() != nil {
		return
	}
	x := n.GetSubLink()
	if x == nil {
		children(n, s.condition)
		return
	}
	sel := x.Subselect.GetSelectStmt()
	level := s.levels[sel]
	switch {
	case level == nil || level.kind != released:
	case x.SubLinkType == pg.SubLinkType_ANY_SUBLINK:
		s.relation(sel, PriorList)
	case x.SubLinkType == pg.SubLinkType_EXPR_SUBLINK && level.scope.escape < 0:
		i := s.l.toks.indexAt(s.offsetOf(x.Location))
		if end := s.l.brackets(i); end > 0 {
			s.add(Prior{Form: PriorValue, span: s.l.between(i, end)}, x.Subselect)
		}
	}
}

// add notes a Prior, with the WITH queries around it that it reads: those that are released are Priors as well, and their results
// stand in it.
func (s *seeker) add(p Prior, query *pg.Node) {
	around, ok := s.around(query, nil)
	if !ok {
		return
	}
	text := s.l.text[p.span.Start:p.span.End]
	if len(around) == 0 {
		p.parts = []string{text}
		s.found = append(s.found, p)
		return
	}
	if p.Form != PriorValue {
		text = "(" + text + ")"
	}
	slices.SortFunc(around, func(x, y *cte) int { return int(x.node.Location - y.node.Location) })
	part := "WITH "
	for i, c := range around {
		whole, ok := s.l.withQuery(c.node)
		body, also := s.l.body(c.node)
		if !ok || !also {
			return
		}
		if i > 0 {
			part += ", "
		}
		if c.result.kind != released {
			part += s.l.text[whole.Start:whole.End]
			continue
		}
		p.parts, part = append(p.parts, part+s.l.text[whole.Start:body.Start]), s.l.text[body.End:whole.End]
		p.used = append(p.used, body)
	}
	p.parts = append(p.parts, part+" SELECT * FROM "+text+" AS prior")
	s.found = append(s.found, p)
	for _, c := range around {
		if c.result.kind == released {
			s.with(c)
		}
	}
}

// around lists the WITH queries that a query reads and that are not its own, of those that are released without what they read
// themselves; false if one of them is recursive, or writes: it would write once more for each that reads it.
func (s *seeker) around(query *pg.Node, have []*cte) ([]*cte, bool) {
	own := map[*pg.CommonTableExpr]bool{}
	everyNode(query, func(n *pg.Node) {
		if c := n.GetCommonTableExpr(); c != nil {
			own[c] = true
		}
	})
	ok := true
	everyNode(query, func(n *pg.Node) {
		c := s.cteRefs[n.GetRangeVar()]
		if c == nil || own[c.node] || slices.Contains(have, c) || !ok {
			return
		}
		if have, ok = append(have, c), !c.selfRead && c.node.Ctequery.GetSelectStmt() != nil; ok && c.result.kind != released {
			have, ok = s.around(c.node.Ctequery, have)
		}
	})
	return have, ok
}

// stage has a refused statement be answered after its Priors, if it has some.
func (s *classification) stage(found []Prior, class Class) {
	st := s.st
	refused := st.Class == Refused || slices.ContainsFunc(st.Blocks, func(b *ast.Block) bool { return b.Err != nil })
	if len(found) == 0 || !refused || st.OnlyRows {
		return
	}
	st.Class, st.Refusal, st.Priors = class, nil, found
	st.Blocks, st.whole, st.inner, st.Concealed = nil, nil, nil, nil
}

// leadPriors has them begin with the comments that the statement begins with, or the query of an EXPLAIN: they are of all.
func leadPriors(s *Statement, toks tokens) {
	if len(s.Priors) == 0 {
		return
	}
	first := sort.Search(len(toks), func(i int) bool { return toks[i].start >= s.Offset })
	var comments strings.Builder
	comments.WriteString(s.Text[:toks[first].start-s.Offset])
	for _, c := range s.Comments {
		if c.Query {
			comments.WriteString(c.Text + "\n")
		}
	}
	for i := range s.Priors {
		s.Priors[i].lead = comments.Len()
		s.Priors[i].parts[0] = comments.String() + s.Priors[i].parts[0]
	}
}
