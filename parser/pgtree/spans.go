package pgtree

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
)

// A Span is a range of byte offsets [Start, End).
type Span struct{ Start, End int }

// A Finder finds the texts of expressions. The parser says only where expressions, or their operators, begin.
type Finder struct {
	Text string
	Base int // offset of the text in the text that was parsed
	Toks lex.Tokens
	// Tried counts the bytes that are parsed in search of ends, and Most bounds them.
	Tried *int
	Most  int
}

// Between is the text of the tokens [from, to).
func (f Finder) Between(from, to int) Span {
	to = min(to, len(f.Toks))
	return Span{f.Toks[from].Start, f.Toks[to-1].End}
}

// Call returns the tokens of name(...) with WITHIN GROUP (...) and FILTER (...): the first, the one after the brackets of its arguments,
// and the one after all. It is not ok if there are no brackets.
func (f Finder) Call(at int) (from, head, end int, ok bool) {
	from = f.Toks.IndexAt(at)
	if from < 0 {
		return 0, 0, 0, false
	}
	head = f.Toks.Brackets(f.Toks.Dotted(from))
	end = head
	if end > 0 && f.Toks.Kind(end) == pg.Token_WITHIN && f.Toks.Kind(end+1) == pg.Token_GROUP_P {
		end = f.Toks.Brackets(end + 2)
	}
	if end > 0 && f.Toks.Kind(end) == pg.Token_FILTER && f.Toks.Kind(end+1) == lex.OpenParen {
		end = f.Toks.Brackets(end + 1)
	}
	return from, head, end, end > 0
}

// Expression finds the span of any expression by trial: beginning with the
// tokens from its smallest to its largest location, it takes in opening brackets on
// the left and tokens on the right until SELECT with that text has the same tree.
func (f Finder) Expression(n *pg.Node) (Span, bool) {
	_, first, last := Canonical(n)
	want, _, _ := Canonical(&pg.RawStmt{Stmt: selecting(n)})
	from, to := f.Toks.IndexAt(first-f.Base), f.Toks.IndexAt(last-f.Base)
	if first < 0 || from < 0 || to < 0 {
		return Span{}, false
	}
	for ; from >= 0; from-- {
		if found, ok := f.propose(string(want), from, to); ok {
			return found, true
		}
		if f.Toks.Kind(from-1) != lex.OpenParen {
			break
		}
	}
	return Span{}, false
}

// propose tries the texts that begin with token from and hold token to.
func (f Finder) propose(want string, from, to int) (Span, bool) {
	depth := f.Toks[from].Depth
	for _, t := range f.Toks[from : to+1] {
		if t.Depth < depth {
			return Span{}, false // closes a bracket that was opened before
		}
	}
	for end := to; end < len(f.Toks) && f.Toks[end].Depth >= depth; end++ {
		if f.Toks[end].Depth > depth || opens(f.Toks[end].Kind) {
			continue
		}
		s := f.Between(from, end+1)
		if *f.Tried += s.End - s.Start; *f.Tried > f.Most {
			return Span{}, false
		}
		if got, ok := CanonicalText("SELECT " + f.Text[s.Start:s.End]); ok && string(got) == want {
			return s, true
		}
		if f.stops(end+1, depth) {
			break
		}
	}
	return Span{}, false
}

func opens(k pg.Token) bool { return k == lex.OpenParen || k == lex.OpenBracket }

// selecting is the tree of SELECT n.
func selecting(n *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		TargetList:  []*pg.Node{{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: n}}}},
		LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg.SetOperation_SETOP_NONE,
	}}}
}

// stops reports whether the token ends every expression that began at the depth.
func (f Finder) stops(i, depth int) bool {
	if i >= len(f.Toks) {
		return true
	}
	t := f.Toks[i]
	if t.Depth != depth || f.Toks.Label(i) {
		return t.Depth < depth
	}
	switch t.Kind {
	case lex.Comma, lex.Semicolon, pg.Token_INTO, pg.Token_WHERE, pg.Token_HAVING, pg.Token_ORDER, pg.Token_LIMIT:
		return true
	case pg.Token_FROM:
		return f.Toks.Kind(i-1) != pg.Token_DISTINCT
	}
	return false
}
