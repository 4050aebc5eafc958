package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// maxProposed bounds the text that is parsed in search of the ends of
// grouping expressions, for a whole statement.
const maxProposed = 1 << 20

// A locator finds where a node stands in the text of its statement, which is the client's
// own or one with views expanded.
type locator struct {
	text     string
	base     int // offset of the text in the parsed text
	toks     lex.Tokens
	origin   origin
	proposed int
	query    Span // the query inside the statement
	target   Span // the INTO clause of SELECT INTO
}

// client returns the offset in the client's text for one in this text.
func (l *locator) client(at int) int { return l.origin.client(at) }

// first returns where the client's statement begins.
func (l *locator) first() int {
	if len(l.toks) == 0 {
		return 0
	}
	return l.client(l.toks[0].Start)
}

// within reports whether the text there is of a view.
func (l *locator) within(at int) bool { return !l.origin.stretch(at).own }

// concealed returns the view that the text there is of, if no client may see its query, or
// "". Of a place that is not known it is any such view of the text.
func (l *locator) concealed(at int) string {
	s := l.origin.stretch(at)
	if i := slices.IndexFunc(l.origin, func(s stretch) bool { return s.view != nil }); at < 0 && i >= 0 {
		s = l.origin[i]
	}
	if s.view == nil {
		return ""
	}
	return s.view.Name
}

// span returns the text range of a node that is an aggregate call or a
// grouping expression.
func (l *locator) span(n *pg.Node) (Span, bool) {
	switch x := n.Node.(type) {
	case *pg.Node_ColumnRef:
		i := l.toks.IndexAt(int(x.ColumnRef.Location) - l.base)
		if i < 0 {
			return Span{}, false
		}
		return l.between(i, l.toks.Dotted(i)), true
	case *pg.Node_FuncCall:
		if pgtree.IsAggregate(n) {
			return l.call(int(x.FuncCall.Location) - l.base)
		}
	case *pg.Node_GroupingFunc:
		return l.call(int(x.GroupingFunc.Location) - l.base)
	}
	return l.expression(n)
}

// between is the text of the tokens [from, to).
func (l *locator) between(from, to int) Span {
	to = min(to, len(l.toks))
	return Span{l.toks[from].Start, l.toks[to-1].End}
}

// call spans name(...) with WITHIN GROUP (...) and FILTER (...).
func (l *locator) call(at int) (Span, bool) {
	i := l.toks.IndexAt(at)
	if i < 0 {
		return Span{}, false
	}
	end := l.brackets(l.toks.Dotted(i))
	if end > 0 && l.toks.Kind(end) == pg.Token_WITHIN && l.toks.Kind(end+1) == pg.Token_GROUP_P {
		end = l.brackets(end + 2)
	}
	if end > 0 && l.toks.Kind(end) == pg.Token_FILTER && l.toks.Kind(end+1) == lex.OpenParen {
		end = l.brackets(end + 1)
	}
	if end < 0 {
		return Span{}, false
	}
	return l.between(i, end), true
}

// brackets returns the index after the bracketed list at i, or -1.
func (l *locator) brackets(i int) int {
	if l.toks.Kind(i) != lex.OpenParen {
		return -1
	}
	end := l.toks.Closing(i)
	if end < 0 {
		return -1
	}
	return end + 1
}

// expression finds the span of any expression by trial: beginning with the
// tokens from its smallest to its largest location, it takes in opening brackets on
// the left and tokens on the right until SELECT with that text has the same tree.
func (l *locator) expression(n *pg.Node) (Span, bool) {
	_, first, last := pgtree.Canonical(n)
	want, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: selecting(n)})
	from, to := l.toks.IndexAt(first-l.base), l.toks.IndexAt(last-l.base)
	if first < 0 || from < 0 || to < 0 {
		return Span{}, false
	}
	for ; from >= 0; from-- {
		if found, ok := l.propose(string(want), from, to); ok {
			return found, true
		}
		if l.toks.Kind(from-1) != lex.OpenParen {
			break
		}
	}
	return Span{}, false
}

// propose tries the texts that begin with token from and hold token to.
func (l *locator) propose(want string, from, to int) (Span, bool) {
	depth := l.toks[from].Depth
	for _, t := range l.toks[from : to+1] {
		if t.Depth < depth {
			return Span{}, false // closes a bracket that was opened before
		}
	}
	for end := to; end < len(l.toks) && l.toks[end].Depth >= depth; end++ {
		if l.toks[end].Depth > depth || opens(l.toks[end].Kind) {
			continue
		}
		s := l.between(from, end+1)
		if l.proposed += s.End - s.Start; l.proposed > maxProposed {
			return Span{}, false
		}
		if got, ok := pgtree.CanonicalText("SELECT " + l.text[s.Start:s.End]); ok && string(got) == want {
			return s, true
		}
		if l.stops(end+1, depth) {
			break
		}
	}
	return Span{}, false
}

func opens(k pg.Token) bool { return k == lex.OpenParen || k == lex.OpenBracket }

// selecting is the tree of SELECT n.
func selecting(n *pg.Node) *pg.Node {
	target := &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: n}}}
	return emptySelect([]*pg.Node{target})
}

// stops reports whether the token ends every expression that began at the depth.
func (l *locator) stops(i, depth int) bool {
	if i >= len(l.toks) {
		return true
	}
	t := l.toks[i]
	if t.Depth != depth || l.toks.Label(i) {
		return t.Depth < depth
	}
	switch t.Kind {
	case lex.Comma, lex.Semicolon, pg.Token_INTO, pg.Token_WHERE, pg.Token_HAVING, pg.Token_ORDER, pg.Token_LIMIT:
		return true
	case pg.Token_FROM:
		return l.toks.Kind(i-1) != pg.Token_DISTINCT
	}
	return false
}
