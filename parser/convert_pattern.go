package parser

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
)

// maxPatterns bounds the patterns that a regular expression stands for.
const maxPatterns = 20

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
	name := operatorName(e)
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

// search converts a test for a regular expression that some patterns of LIKE stand for: literal
// characters, any character, any characters, and alternatives. Nothing else has a bounded cost.
func (v exprConverter) search(s search, location int32) ast.Expr {
	patterns, ok := s.patterns()
	if !ok {
		v.forbid(location, "a regular expression of other than characters, ., .*, ^, $ and (a|b)",
			"Write LIKE patterns, or group by the column and search in the result.")
		return nil
	}
	op, kind := "~~", ast.Or
	if s.not {
		op, kind = "!~~", ast.And
	}
	if s.folded {
		op += "*"
	}
	at := v.a.pos(location)
	var parts []ast.Expr
	for _, p := range patterns {
		parts = append(parts, &ast.Op{Name: op, Left: v.expr(s.text), Right: &ast.Const{Kind: ast.String, Text: p, At: at}, At: at})
	}
	return combined(kind, parts, at)
}

// patterns returns the patterns of LIKE that match the same texts.
func (s search) patterns() ([]string, bool) {
	p := &patternParser{rest: s.pattern, similar: s.similar}
	open, shut := "%", "%"
	if s.similar || p.take("^") {
		open = ""
	}
	if s.similar {
		shut = ""
	}
	out := []string{open}
	for p.rest != "" && (s.similar || p.rest != "$") {
		group, ok := p.part()
		if !ok || len(out)*len(group) > maxPatterns {
			return nil, false
		}
		var longer []string
		for _, before := range out {
			for _, g := range group {
				longer = append(longer, before+g)
			}
		}
		out = longer
	}
	if p.rest == "$" {
		shut = ""
	}
	for i := range out {
		out[i] += shut
	}
	return out, true
}

// A patternParser reads a regular expression.
type patternParser struct {
	rest    string
	similar bool
}

func (p *patternParser) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// part reads a character, or a group of alternatives: what LIKE calls it.
func (p *patternParser) part() ([]string, bool) {
	if !p.take("(") {
		one, ok := p.character()
		return []string{one}, ok
	}
	all := []string{""}
	for !p.take(")") {
		if p.take("|") {
			all = append(all, "")
			continue
		}
		one, ok := p.character()
		if !ok {
			return nil, false
		}
		all[len(all)-1] += one
	}
	return all, p.rest == "" || !strings.ContainsAny(p.rest[:1], "*+?{")
}

// character reads one character, which nothing repeats but the one that stands for any.
func (p *patternParser) character() (string, bool) {
	if p.rest == "" {
		return "", false
	}
	c := p.rest[:1]
	p.rest = p.rest[1:]
	out, plain := p.meaning(c)
	if !plain && out == "" {
		return "", false
	}
	if p.rest == "" || !strings.ContainsAny(p.rest[:1], "*+?{") {
		return out, true
	}
	return "%", out == "_" && !plain && !p.similar && p.take("*") && (p.rest == "" || !strings.ContainsAny(p.rest[:1], "*+?{"))
}

// meaning returns what a character is in LIKE, and whether it stands for itself.
func (p *patternParser) meaning(c string) (out string, plain bool) {
	switch {
	case p.similar && (c == "%" || c == "_"):
		return c, false
	case c == "%" || c == "_":
		return `\` + c, true
	case !p.similar && c == ".":
		return "_", false
	case strings.ContainsAny(c, `\^$.|?*+()[]{}`) && (!p.similar || c != "." && c != "^" && c != "$"):
		return "", false
	case c >= "\x80": // a byte of a character: LIKE compares characters as well
		return c, true
	}
	return c, true
}
