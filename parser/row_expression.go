package parser

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A Question is an expression over one row, as dp.survey is given it.
type Question struct {
	Expr ast.Expr
	// Normal is the text as Postgres's deparser writes it: equal texts are the same question. Answers are kept under it for good, so that
	// another way to write it would ask the objects again, at their loss.
	Normal string
}

// ParseQuestion parses an expression. The positions of its nodes, and of a refusal, count in the text.
func ParseQuestion(text string) (*Question, *pgerr.Error) {
	q := rowExpression{
		name: "a question", why: "its answers are permanent", longest: 10_000,
		like: "such as smoker, or 0.5*age + bmi",
	}
	x, tree, err := q.parse(text)
	if err != nil {
		return nil, err
	}
	normal, failed := pg.Deparse(tree)
	if failed != nil {
		return nil, q.none()
	}
	return &Question{x, strings.TrimPrefix(normal, beforeExpression)}, nil
}

// ParseDerived parses an expression that a policy bounds. The positions of a refusal count in the text.
func ParseDerived(text string) (ast.Expr, *pgerr.Error) {
	q := rowExpression{
		name: "the expression", why: "it is computed of one row of the table", longest: 1000,
		like: "such as ended - begun, or weight / (height * height)",
	}
	x, _, err := q.parse(text)
	return x, err
}

// A rowExpression is what a text may be that is an expression over the columns of one row.
type rowExpression struct {
	name, why, like string // for refusals
	longest         int    // in bytes
}

const beforeExpression = "SELECT "

// parse parses the text, also as a tree of the SELECT of it.
func (q rowExpression) parse(text string) (ast.Expr, *pg.ParseResult, *pgerr.Error) {
	if len(text) > q.longest || strings.IndexByte(text, 0) >= 0 {
		return nil, nil, pgerr.New(pgerr.StatementTooComplex, "%s is longer than %d bytes", q.name, q.longest).
			WithHint("Write a shorter one.")
	}
	sql := beforeExpression + text
	toks, comments, err := lex.Scan(sql)
	if err != nil {
		return nil, nil, q.none()
	}
	if len(comments) > 0 {
		return nil, nil, pgerr.New(pgerr.FeatureNotSupported, "%s has no comments", q.name).At(comments[0].Start - len(beforeExpression)).
			WithHint("Leave it out.")
	}
	if refusal := lex.Guard(toks); refusal != nil {
		return nil, nil, refusal
	}
	tree, err := pg.Parse(sql)
	if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].StmtLen > 0 {
		return nil, nil, q.none()
	}
	n := onlyTarget(tree.Stmts[0].Stmt)
	if n == nil {
		return nil, nil, q.none()
	}
	if refusal := q.ofOneRow(n); refusal != nil {
		return nil, nil, refusal
	}
	before := len(beforeExpression)
	a := newAnalysis(&locator{text: text, base: before, toks: lex.Slice(toks, before, len(sql))}, noNames{})
	v := &queryConverter{conversion: &conversion{a: a}, each: &each{}}
	x := exprConverter{v, false}.expr(n)
	switch {
	case v.err != nil:
		return nil, nil, v.err
	case x == nil:
		return nil, nil, q.none()
	}
	return x, tree, nil
}

func (q rowExpression) none() *pgerr.Error {
	return pgerr.New(pgerr.Syntax, "this is no expression over the columns of the table").
		WithHint("Write one as in a select list, %s.", q.like)
}

// ofOneRow refuses everything that depends on more than the row.
func (q rowExpression) ofOneRow(n *pg.Node) (refusal *pgerr.Error) {
	refuse := func(location int32, what string) {
		if refusal == nil {
			refusal = pgerr.New(pgerr.NotAllowed, "%s has no %s: %s", q.name, what, q.why).
				At(int(location) - len(beforeExpression)).WithHint("Write a constant.")
		}
	}
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		switch x := n.GetNode().(type) {
		case *pg.Node_SubLink:
			refuse(x.SubLink.Location, "sub-select")
			return
		case *pg.Node_ParamRef:
			refuse(x.ParamRef.Location, "parameter")
		case *pg.Node_SqlvalueFunction:
			refuse(x.SqlvalueFunction.Location, "value of the session")
		}
		pgtree.Children(n, visit)
	}
	pgtree.Visit(n, visit)
	return refusal
}

// onlyTarget returns the expression of SELECT expression, nil if the statement is anything else.
func onlyTarget(stmt *pg.Node) *pg.Node {
	sel := stmt.GetSelectStmt()
	if sel == nil || len(sel.TargetList) != 1 || sel.Op != pg.SetOperation_SETOP_NONE {
		return nil
	}
	target := sel.TargetList[0].GetResTarget()
	if target == nil || target.Name != "" || len(target.Indirection) > 0 {
		return nil
	}
	switch {
	case len(sel.DistinctClause) > 0, sel.IntoClause != nil, len(sel.FromClause) > 0, sel.WhereClause != nil, len(sel.GroupClause) > 0,
		sel.HavingClause != nil, len(sel.WindowClause) > 0, len(sel.ValuesLists) > 0, len(sel.SortClause) > 0, sel.LimitOffset != nil,
		sel.LimitCount != nil, len(sel.LockingClause) > 0, sel.WithClause != nil:
		return nil
	}
	return target.Val
}

// noNames know no relation.
type noNames struct{ ast.Strangers }

// Relation implements Names.
func (noNames) Relation(string, string) (ast.Relation, bool) { return ast.Relation{}, false }
