package parser

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// Tokens returns where the tokens of the text stand, for tests that rewrite the
// space between them.
func Tokens(sql string) ([]Span, error) {
	toks, _, err := lex.Scan(sql)
	if err != nil {
		return nil, err
	}
	spans := make([]Span, 0, len(toks))
	for _, t := range toks {
		spans = append(spans, Span{t.Start, t.End})
	}
	return spans, nil
}

// Cores returns for each block of each statement a query that computes the
// relation of the block from the rows themselves, made of the client's own text.
func Cores(sql string, cat ast.Names) ([][]string, error) {
	toks, comments, err := lex.Scan(sql)
	if err != nil {
		return nil, err
	}
	tree, err := pg.Parse(lex.Blank(sql, toks, comments))
	if err != nil {
		return nil, err
	}
	var out [][]string
	for _, raw := range tree.Stmts {
		end := len(sql)
		if raw.StmtLen > 0 {
			end = int(raw.StmtLocation + raw.StmtLen)
		}
		start := int(raw.StmtLocation)
		l := &locator{text: sql[start:end], base: start, toks: lex.Slice(toks, start, end)}
		out = append(out, cores(raw.Stmt, l, cat))
	}
	return out, nil
}

func cores(stmt *pg.Node, l *locator, cat ast.Names) []string {
	query, _, ok := executed(stmt)
	if !ok {
		return nil
	}
	a := newAnalysis(l, cat)
	if sel := query.GetSelectStmt(); sel != nil {
		a.query(sel, nil)
	} else {
		a.modify(query, nil)
	}
	if len(a.views) > 0 {
		next, expanded, err := a.expand(stmt)
		if err != nil {
			return nil
		}
		return cores(expanded, next, cat)
	}
	changes, _, _ := a.rewrite()
	var out []string
	for _, c := range changes {
		out = append(out, l.core(c.candidate, c.matcher))
	}
	return out
}

func (l *locator) core(c *candidate, m *matcher) string {
	var targets, positions []string
	for i, n := range m.groupNodes {
		targets = append(targets, l.textOf(n)+" AS g"+strconv.Itoa(i+1))
		positions = append(positions, strconv.Itoa(i+1))
	}
	for i, n := range m.aggregateNodes {
		targets = append(targets, l.textOf(n)+" AS a"+strconv.Itoa(i+1))
	}
	for i, call := range m.groupings {
		var args []string
		for _, g := range call {
			args = append(args, l.textOf(m.groupNodes[g]))
		}
		targets = append(targets, "GROUPING("+strings.Join(args, ", ")+") AS s"+strconv.Itoa(i+1))
	}
	if len(targets) == 0 {
		return "SELECT 1 AS g1"
	}
	k, _ := l.clauses(c)
	end := k.next
	if group := l.toks.Keyword(pg.Token_GROUP_P, k.from, k.next, k.depth); group >= 0 {
		end = group
	}
	s := l.between(k.from, end)
	text := l.with(c.scope.ctes) + "SELECT " + strings.Join(targets, ", ") + " " + l.text[s.Start:s.End]
	switch {
	case m.sets != nil:
		text += " GROUP BY GROUPING SETS (" + strings.Join(setTexts(m.sets), ", ") + ")"
	case len(positions) > 0:
		text += " GROUP BY " + strings.Join(positions, ", ")
	}
	return text
}

func setTexts(sets [][]int) []string {
	var out []string
	for _, set := range sets {
		var positions []string
		for _, i := range set {
			positions = append(positions, strconv.Itoa(i+1))
		}
		out = append(out, "("+strings.Join(positions, ", ")+")")
	}
	return out
}

func (l *locator) textOf(n *pg.Node) string {
	if at := n.GetAConst(); at != nil {
		i := l.toks.IndexAt(int(at.Location) - l.base)
		return l.text[l.toks[i].Start:l.toks[i].End]
	}
	s, _ := l.span(n)
	return l.text[s.Start:s.End]
}

func (l *locator) with(s *cteScope) string {
	var ctes []string
	for ; s != nil; s = s.parent {
		for _, c := range slices.Backward(s.ctes) {
			start := l.toks.IndexAt(int(c.node.Location) - l.base)
			body, _ := l.body(c.node)
			end := l.toks.IndexAt(body.End)
			ctes = append(ctes, l.text[l.toks[start].Start:l.toks[end].End])
		}
	}
	if len(ctes) == 0 {
		return ""
	}
	slices.Reverse(ctes)
	return "WITH RECURSIVE " + strings.Join(ctes, ", ") + " "
}

// ParseTampered is Parse of one statement that is misled about where token i ends.
func ParseTampered(sql string, cat ast.Names, i, shift int) (*Statement, error) {
	toks, comments, err := lex.Scan(sql)
	if err != nil {
		return nil, err
	}
	tree, err := pg.Parse(lex.Blank(sql, toks, comments))
	if err != nil {
		return nil, err
	}
	toks[i].End += shift
	return Text{SQL: sql}.statement(tree.Stmts[0], toks, cat), nil
}

// SameTree reports whether two texts have the same tree, locations aside.
func SameTree(a, b string) bool {
	x, okX := pgtree.CanonicalText(a)
	y, okY := pgtree.CanonicalText(b)
	return okX && okY && string(x) == string(y)
}
