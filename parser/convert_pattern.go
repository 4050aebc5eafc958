package parser

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pattern"
	"dpproxy/parser/pgtree"
)

// A search is a test for a regular expression: which, whether a text must not match, and whether case matters.
type search struct {
	text    *pg.Node // what is searched
	pattern string
	not     bool
	similar bool // as of SIMILAR TO
	folded  bool // as of ~*
}

// searchOf returns the test of text ~ 'literal', !~, ~*, !~*, and [NOT] SIMILAR TO 'literal'.
func searchOf(e *pg.A_Expr) (s search, ok bool) {
	name := pgtree.OperatorName(e)
	pattern := e.Rexpr
	name, folded := strings.CutSuffix(name, "*")
	s = search{text: e.Lexpr, not: name == "!~", similar: e.Kind == pg.A_Expr_Kind_AEXPR_SIMILAR, folded: folded}
	if s.similar {
		call := pattern.GetFuncCall()
		if len(call.GetArgs()) != 1 { // with ESCAPE
			return s, false
		}
		pattern = call.Args[0]
	}
	literal, isText := pattern.GetAConst().GetVal().(*pg.A_Const_Sval)
	if name != "~" && name != "!~" || !isText {
		return s, false
	}
	s.pattern = literal.Sval.GetSval()
	return s, true
}

// search converts a test for a regular expression to tests of plain SQL that stand for it. The text is converted, and
// counted, for each.
func (v exprConverter) search(s search, location int32) ast.Expr {
	if v.err != nil { // of a text that searches another one, the copies are too many soon
		return nil
	}
	alternatives, err := pattern.Compile(s.pattern, pattern.Kind{Folded: s.folded, Similar: s.similar})
	if refusal := (*pattern.RefusedError)(nil); errors.As(err, &refusal) {
		v.forbid(location, refusal.What, refusal.Hint)
		return nil
	}
	at := v.a.pos(location)
	if patterns, ok := s.patterns(alternatives); ok {
		return v.likeOne(s, patterns, at)
	}
	either := make([]ast.Expr, 0, len(alternatives))
	for _, tests := range alternatives {
		all := make([]ast.Expr, 0, len(tests))
		for _, t := range tests {
			all = append(all, v.searchTest(s, t, at))
		}
		either = append(either, combined(ast.And, all, at))
	}
	found := combined(ast.Or, either, at)
	if s.not {
		found = &ast.Bool{Kind: ast.Not, Args: []ast.Expr{found}, At: at}
	}
	return found
}

// patterns returns the patterns of LIKE that an expression stands for, if there is no more to it.
func (s search) patterns(alternatives [][]pattern.Test) (all []string, ok bool) {
	if !ascii(s.pattern) && strings.ContainsAny(s.pattern, "*+?{") {
		return nil, false // a character is repeated, whatever the database takes for one
	}
	for _, tests := range alternatives {
		if len(tests) != 1 || len(tests[0].Of) > 0 || tests[0].Operator != "~~" {
			return nil, false
		}
		all = append(all, tests[0].Values...)
	}
	return all, true
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c >= utf8.RuneSelf })
}

// likeOne is LIKE of one of some patterns, or of none.
func (v exprConverter) likeOne(s search, patterns []string, at int) ast.Expr {
	op, kind := "~~", ast.Or
	if s.not {
		op, kind = "!~~", ast.And
	}
	parts := make([]ast.Expr, 0, len(patterns))
	for _, p := range patterns {
		parts = append(parts, &ast.Op{Name: op, Left: v.expr(s.text), Right: &ast.Const{Kind: ast.String, Text: p, At: at}, At: at})
	}
	return combined(kind, parts, at)
}

func (v exprConverter) searchTest(s search, t pattern.Test, at int) ast.Expr {
	if t.With != nil {
		return &ast.Op{Name: t.Operator, Left: v.searched(s, t.Of, at), Right: v.searched(s, t.With, at), At: at}
	}
	parts := make([]ast.Expr, 0, len(t.Values))
	for _, value := range t.Values {
		right := &ast.Const{Kind: ast.String, Text: value, At: at}
		parts = append(parts, &ast.Op{Name: t.Operator, Left: v.searched(s, t.Of, at), Right: right, At: at})
	}
	return combined(ast.Or, parts, at)
}

// searched is the text that is searched, after some calls.
func (v exprConverter) searched(s search, calls pattern.Text, at int) ast.Expr {
	var x ast.Expr = &ast.Searched{X: v.expr(s.text), Folded: s.folded, Wide: !ascii(s.pattern), At: at}
	for _, c := range calls {
		f := &ast.Func{Name: c.Name, Args: []ast.Expr{x}, At: at}
		for _, text := range c.Texts {
			f.Args = append(f.Args, &ast.Const{Kind: ast.String, Text: text, At: at})
		}
		for _, n := range c.Numbers {
			f.Args = append(f.Args, &ast.Const{Kind: ast.Integer, Text: strconv.Itoa(n), At: at})
		}
		x = f
	}
	return x
}
