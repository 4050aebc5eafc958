package repair

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// maxTried bounds the text that is parsed in search of the ends of expressions, for a whole statement.
const maxTried = 1 << 18

// A statement is one of the client's, or one that a rule has written.
type statement struct {
	sql   string
	toks  lex.Tokens
	stmt  *pg.Node
	spans map[*pg.Node]pgtree.Span // that are known
	tried int
	lost  bool // a place was not found: a statement that is written with it would be wrong
}

// read parses a statement. It is not ok if there are several, or if the text is too long or too deep to be parsed.
func read(sql string) (*statement, bool) {
	toks, comments, err := lex.Scan(sql)
	if err != nil || len(sql) > maxInstead || lex.Guard(toks) != nil {
		return nil, false
	}
	tree, err := pg.Parse(lex.Blank(sql, toks, comments))
	if err != nil || len(tree.Stmts) != 1 {
		return nil, false
	}
	t := &statement{sql: sql, toks: toks, stmt: tree.Stmts[0].Stmt, spans: map[*pg.Node]pgtree.Span{}}
	if last := len(toks) - 1; t.toks.Kind(last) == lex.Semicolon {
		t.toks = t.toks[:last]
	}
	return t, true
}

// all is the statement with the comments before it, but without the semicolon and the comments after it.
func (t *statement) all() pgtree.Span {
	return pgtree.Span{Start: len(t.sql) - len(strings.TrimLeft(t.sql, " \t\r\n\f")), End: t.toks[len(t.toks)-1].End}
}

func (t *statement) finder() pgtree.Finder {
	return pgtree.Finder{Text: t.sql, Toks: t.toks, Tried: &t.tried, Most: maxTried}
}

// between is the text of the tokens [from, to).
func (t *statement) between(from, to int) pgtree.Span {
	if from < 0 || to <= from {
		return t.nowhere()
	}
	return t.finder().Between(from, to)
}

// nowhere is the place of something that is not found.
func (t *statement) nowhere() pgtree.Span {
	t.lost = true
	return pgtree.Span{}
}

// tokens returns the tokens [from, to) of a span.
func (t *statement) tokens(s pgtree.Span) (from, to int) {
	from = t.toks.IndexAt(s.Start)
	for to = from; to < len(t.toks) && t.toks[to].Start < s.End; to++ {
	}
	return from, to
}

// place returns where an expression is, or a query in brackets.
func (t *statement) place(n *pg.Node) pgtree.Span {
	if s, known := t.spans[n]; known {
		return s
	}
	s, ok := t.find(n)
	if !ok {
		return t.nowhere()
	}
	t.spans[n] = s
	return s
}

func (t *statement) find(n *pg.Node) (pgtree.Span, bool) {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		if i := t.toks.IndexAt(int(x.ColumnRef.Location)); i >= 0 {
			return t.between(i, t.toks.Dotted(i)), true
		}
	case *pg.Node_FuncCall:
		if pgtree.IsAggregate(n) {
			from, _, end, ok := t.finder().Call(int(x.FuncCall.Location))
			return t.between(from, end), ok
		}
	case *pg.Node_SubLink:
		i := t.toks.IndexAt(int(x.SubLink.Location))
		switch x.SubLink.SubLinkType {
		case pg.SubLinkType_EXISTS_SUBLINK:
			return t.between(i, t.toks.Brackets(i+1)), true
		case pg.SubLinkType_EXPR_SUBLINK:
			return t.between(i, t.toks.Brackets(i)), true
		}
	}
	return t.finder().Expression(n)
}

// item returns where a table or a sub-select in FROM is, with LATERAL before it and its alias after it.
func (t *statement) item(n *pg.Node) pgtree.Span {
	from := t.toks.IndexAt(int(pgtree.FirstLocation(n)))
	if s := n.GetRangeSubselect(); s != nil {
		q := t.located(s.Subquery.GetSelectStmt())
		if q == nil {
			return t.nowhere()
		}
		from, _ = t.tokens(q.whole)
		for from--; t.toks.Kind(from-1) == lex.OpenParen && t.toks.Closing(from)+1 == t.toks.Closing(from-1); from-- {
		}
	}
	for t.toks.Kind(from-1) == pg.Token_LATERAL_P || t.toks.Kind(from-1) == pg.Token_ONLY {
		from--
	}
	if from < 0 {
		return t.nowhere()
	}
	to := from + 1
	for to < len(t.toks) && !t.endsItem(to, t.toks[from].Depth) {
		to++
	}
	return t.between(from, to)
}

// endsItem reports whether token i is behind the item of FROM that begins at a depth.
func (t *statement) endsItem(i, depth int) bool {
	if t.toks[i].Depth != depth || t.toks.Label(i) {
		return t.toks[i].Depth < depth
	}
	switch t.toks[i].Kind {
	case lex.Comma, pg.Token_JOIN, pg.Token_LEFT, pg.Token_RIGHT, pg.Token_FULL, pg.Token_INNER_P, pg.Token_CROSS, pg.Token_NATURAL,
		pg.Token_ON, pg.Token_USING, pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_WINDOW, pg.Token_ORDER,
		pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH, pg.Token_FOR, pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT:
		return true
	}
	return false
}
