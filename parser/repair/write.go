package repair

import (
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// text returns the text of an expression.
func (t *statement) text(n *pg.Node) string { return t.edited(t.place(n)) }

// list writes expressions with commas between them.
func (t *statement) list(nodes ...*pg.Node) string {
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = t.text(n)
	}
	return strings.Join(parts, ", ")
}

// operand writes an expression as an operand of an operator: in brackets, unless it needs none anywhere.
func (t *statement) operand(n *pg.Node) string {
	switch n.GetNode().(type) {
	case *pg.Node_ColumnRef, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_CaseExpr, *pg.Node_CoalesceExpr, *pg.Node_SubLink:
		return t.text(n)
	}
	return "(" + t.text(n) + ")"
}

// instead is the edit that replaces an expression. Before a subscript the new expression gets brackets.
func (t *statement) instead(n *pg.Node, by string) edit {
	s := t.place(n)
	if _, to := t.tokens(s); t.toks.Kind(to) == lex.OpenBracket {
		by = "(" + by + ")"
	}
	return edit{s, by}
}

// bracketed writes a condition that AND will connect with others, with edits.
func (t *statement) bracketed(n *pg.Node, edits ...edit) string {
	sql := t.edited(t.place(n), edits...)
	if isOr(n) {
		return "(" + sql + ")"
	}
	return sql
}

// last is the place of the name of a column without its qualifiers.
func (t *statement) last(ref *pg.Node) pgtree.Span {
	s := t.place(ref)
	from, to := t.tokens(s)
	for i := from; i < to; i++ {
		if t.toks.Kind(i) == pg.Token_ASCII_46 && i+1 < to {
			s.Start = t.toks[i+1].Start
		}
	}
	return s
}

// name returns the name of a column without its qualifiers, as it is written.
func (t *statement) name(ref *pg.Node) string { return t.edited(t.last(ref)) }

// qualified are the edits that give the columns of expressions another qualifier, or none.
func (t *statement) qualified(alias string, list ...*pg.Node) (edits []edit) {
	if alias != "" {
		alias += "."
	}
	for _, n := range find(isColumn, list...) {
		edits = append(edits, edit{pgtree.Span{Start: t.place(n).Start, End: t.last(n).Start}, alias})
	}
	return edits
}

// head is the place of the name of a call and of its arguments in brackets.
func (t *statement) head(call *pg.Node) pgtree.Span {
	from, head, _, _ := t.finder().Call(int(call.GetFuncCall().GetLocation()))
	return t.between(from, head)
}

// callee is the place of the name of a call, without its schema.
func (t *statement) callee(call *pg.Node) pgtree.Span {
	i := t.toks.IndexAt(int(call.GetFuncCall().GetLocation()))
	return t.between(t.toks.Dotted(i)-1, t.toks.Dotted(i))
}

// star is the place of the star of count(*).
func (t *statement) star(call *pg.Node) pgtree.Span {
	_, head, _, _ := t.finder().Call(int(call.GetFuncCall().GetLocation()))
	return t.between(head-2, head-1)
}

// ident writes a name, in quotes if it needs them.
func ident(name string) string {
	if !plain.MatchString(name) {
		return ast.QuoteIdent(name)
	}
	toks, err := pg.Scan(name)
	if err != nil || len(toks.Tokens) != 1 || toks.Tokens[0].KeywordKind > pg.KeywordKind_UNRESERVED_KEYWORD {
		return ast.QuoteIdent(name)
	}
	return name
}

var plain = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
