package parser

import (
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// An edit replaces a range of the statement by text, or by text with the
// relation of a block in the middle.
type edit struct {
	Span
	before string
	block  int // index of the block, or -1
	after  string
	// inner edits apply only to the query inside the statement.
	inner bool
}

// clauses are token indices of one SELECT, at one depth of brackets. Each is
// where the clause begins, -1 if there is none; next is the first clause after
// GROUP BY, end is after the last token.
type clauses struct {
	depth, into, from, next, having, end int
}

// clauses finds the clauses of a block. Its anchor is the first target, the
// only place of a SELECT that the tree tells.
func (l *locator) clauses(c *candidate) (clauses, bool) {
	first := l.toks.IndexAt(c.at)
	if first < 0 {
		return clauses{}, false
	}
	k := clauses{depth: l.toks[first].Depth}
	k.end = l.toks.EndOfSelect(first, k.depth)
	k.from = first
	for {
		k.from = l.toks.Keyword(pg.Token_FROM, k.from+1, k.end, k.depth)
		if k.from < 0 {
			return k, false
		}
		if l.toks.Kind(k.from-1) != pg.Token_DISTINCT {
			break
		}
	}
	k.into = l.toks.Keyword(pg.Token_INTO, first, k.from, k.depth)
	k.next = k.from + 1
	for k.next < k.end && !l.afterGrouping(k.next, k.depth) {
		k.next++
	}
	k.having = -1
	if c.sel.HavingClause != nil {
		k.having = l.toks.Keyword(pg.Token_HAVING, k.next, k.end, k.depth)
	}
	return k, k.having >= 0 || c.sel.HavingClause == nil
}

// afterGrouping reports whether token i begins a clause that follows GROUP BY.
func (l *locator) afterGrouping(i, depth int) bool {
	if l.toks[i].Depth != depth || l.toks.Label(i) {
		return false
	}
	switch l.toks[i].Kind {
	case pg.Token_HAVING, pg.Token_WINDOW, pg.Token_ORDER, pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH, pg.Token_FOR:
		return true
	}
	return false
}

// alias is the name of the relation of the block of that index.
func alias(block int) string { return "dp$" + strconv.Itoa(block+1) }

// edits lists the changes to the text of a block; nil if a place was not found.
func (l *locator) edits(c *candidate, m *matcher, block int) ([]edit, *pgerr.Error) {
	k, ok := l.clauses(c)
	if !ok {
		return nil, l.internal(c.at)
	}
	var out []edit
	for _, o := range m.found {
		s, ok := l.span(o.node)
		if !ok {
			return nil, l.internal(c.at)
		}
		out = append(out, edit{Span: s, before: ast.QuoteIdent(alias(block)) + "." + o.column, block: -1})
	}
	named, err := l.names(c, k, out)
	if err != nil {
		return nil, err
	}
	out = append(out, named...)
	out = append(out, edit{
		Span:   l.between(k.from, k.next),
		before: "FROM ", block: block, after: " AS " + ast.QuoteIdent(alias(block)),
	})
	if k.having >= 0 {
		out = append(out, edit{Span: l.between(k.having, k.having+1), before: "WHERE", block: -1})
	}
	return append(out, l.fence(c, k)...), nil
}

// fence keeps Postgres from merging a block with the query around it. Postgres plans a query that aggregates apart. The one in its
// place does not aggregate, and constants of both would meet: that changes collations, type modifiers, and when an error comes.
func (l *locator) fence(c *candidate, k clauses) []edit {
	s := c.sel
	begin, end := l.toks.IndexAt(c.at)-1, k.next
	for begin > 0 && l.toks.Kind(begin) != pg.Token_SELECT {
		begin--
	}
	for k.having >= 0 && end < k.end && (end == k.having || !l.afterGrouping(end, k.depth)) {
		end++
	}
	if !l.nests(begin-1) && !l.nests(end) || len(s.DistinctClause) > 0 || len(s.SortClause) > 0 || len(s.WindowClause) > 0 ||
		s.LimitOffset != nil || s.LimitCount != nil || len(s.LockingClause) > 0 || s.WithClause != nil || s.IntoClause != nil {
		return nil
	}
	c.fenced = true
	text, open, offset := l.between(begin, end), "(", " OFFSET 0)"
	if l.toks.Kind(begin-1) == lex.OpenParen && l.toks.Kind(end) == lex.CloseParen {
		open, offset = "", " OFFSET 0"
	}
	return []edit{
		{Span: Span{text.Start, text.Start}, before: open, block: -1},
		{Span: Span{text.End, text.End}, before: offset, block: -1},
	}
}

// nests reports whether a query beside token i is part of another one.
func (l *locator) nests(i int) bool {
	switch l.toks.Kind(i) {
	case lex.OpenParen, pg.Token_UNION, pg.Token_EXCEPT, pg.Token_INTERSECT, pg.Token_ALL, pg.Token_DISTINCT:
		return true
	}
	return false
}

// names gives each target without an alias the name that it had.
func (l *locator) names(c *candidate, k clauses, changed []edit) ([]edit, *pgerr.Error) {
	var out []edit
	for i, n := range c.sel.TargetList {
		t := n.GetResTarget()
		if t.Name != "" {
			continue
		}
		from, to := l.targetTokens(c, k, i)
		if from < 0 || to <= from {
			return nil, l.internal(c.at)
		}
		s := l.between(from, to)
		name, known := pgtree.OutputName(t)
		if known {
			out = append(out, edit{Span: Span{s.End, s.End}, before: " AS " + ast.QuoteIdent(name), block: -1})
			continue
		}
		for _, e := range changed {
			if s.Start <= e.Start && e.End <= s.End {
				return nil, pgerr.New(pgerr.FeatureNotSupported, "the column needs a name").At(l.client(s.Start)).
					WithHint("Add AS and a name after the expression.")
			}
		}
	}
	return out, nil
}

// targetTokens returns the range of tokens of a target without alias.
func (l *locator) targetTokens(c *candidate, k clauses, i int) (from, to int) {
	start := func(i int) int {
		return l.toks.IndexAt(int(c.sel.TargetList[i].GetResTarget().GetLocation()) - l.base)
	}
	switch {
	case i+1 < len(c.sel.TargetList):
		return start(i), start(i+1) - 1
	case k.into >= 0:
		return start(i), k.into
	}
	return start(i), k.from
}

// internal is the refusal of a statement that could not be rewritten with proof.
func (l *locator) internal(at int) *pgerr.Error {
	return pgerr.New(pgerr.Internal, "the statement could not be rewritten").At(l.client(at)).
		WithHint("Nothing was read or charged. Write the query in a simpler form, and report this statement.")
}

// body returns the span of the query of a CTE, without its brackets.
func (l *locator) body(c *pg.CommonTableExpr) (Span, bool) {
	i := l.toks.IndexAt(int(c.Location) - l.base)
	if i < 0 {
		return Span{}, false
	}
	i = l.toks.Name(i)
	if l.toks.Kind(i) == lex.OpenParen {
		i = l.brackets(i)
	}
	for l.toks.Kind(i) == pg.Token_AS || l.toks.Kind(i) == pg.Token_NOT || l.toks.Kind(i) == pg.Token_MATERIALIZED {
		i++
	}
	if l.toks.Kind(i) != lex.OpenParen {
		return Span{}, false
	}
	end := l.toks.Closing(i)
	if end < 0 {
		return Span{}, false
	}
	return Span{l.toks[i].End, l.toks[end].Start}, true
}
