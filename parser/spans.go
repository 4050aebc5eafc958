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
func (l *locator) between(from, to int) Span { return Span(l.finder().Between(from, to)) }

// call spans name(...) with WITHIN GROUP (...) and FILTER (...).
func (l *locator) call(at int) (Span, bool) {
	from, _, end, ok := l.finder().Call(at)
	if !ok {
		return Span{}, false
	}
	return l.between(from, end), true
}

// brackets returns the index after the bracketed list at i, or -1.
func (l *locator) brackets(i int) int { return l.toks.Brackets(i) }

// expression finds the span of any expression by trial.
func (l *locator) expression(n *pg.Node) (Span, bool) {
	s, ok := l.finder().Expression(n)
	return Span(s), ok
}

func (l *locator) finder() pgtree.Finder {
	return pgtree.Finder{Text: l.text, Base: l.base, Toks: l.toks, Tried: &l.proposed, Most: maxProposed}
}
