package parser

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A sub-select that is tied to the query around it by equalities alone, as in cost > (SELECT avg(cost) FROM visits w
// WHERE w.diagnosis = v.diagnosis), has one value for each group of its own sides of them. The values of these groups
// are released, and the other sides say whose value it is.

// A tie is an equality between a query and the one around it.
type tie struct{ whole, inner, outer *pg.Node }

// byGroup notes such a sub-select, between two tokens that are brackets.
func (s *seeker) byGroup(sel *pg.SelectStmt, own *scope, open, end int) {
	ties, ok := s.ties(sel, own)
	toks := s.l.toks
	if !ok || toks.Kind(open+1) != pg.Token_SELECT || toks.Kind(open+2) == pg.Token_ALL {
		return
	}
	query := &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}}
	f := finding{as: AsGroups, public: s.isPublic(query)}
	var inner, places []string
	var cuts []Span
	for i, t := range ties {
		spans, found := s.spans(t.whole, t.inner, t.outer)
		if !found {
			return
		}
		f.keys = append(f.keys, s.text[spans[2].Start:spans[2].End])
		inner = append(inner, s.text[spans[1].Start:spans[1].End])
		cuts, places = append(cuts, spans[0]), append(places, strconv.Itoa(i+1))
	}
	targets := s.own(Span{toks[open+2].Start, toks[end-1].Start})
	f.span, f.text = s.own(s.l.between(open, end)), []passage{{words: "SELECT " + strings.Join(inner, ", ") + ", "}}
	slices.SortFunc(cuts, func(x, y Span) int { return x.Start - y.Start })
	for _, cut := range cuts {
		f.text = append(f.text, passage{span: Span{targets.Start, cut.Start}}, passage{words: "TRUE"})
		targets.Start = cut.End
	}
	f.text = append(f.text, passage{span: targets})
	if pgtree.IsAggregated(sel) {
		f.text = append(f.text, passage{words: " GROUP BY " + strings.Join(places, ", ")})
	}
	s.note(f, query)
}

// isNullOfNone reports whether an item of a SELECT list is NULL of no rows, as the value of a group without rows is: an aggregate that is
// no count, with operators and casts around it.
func isNullOfNone(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_ResTarget:
		return isNullOfNone(x.ResTarget.Val)
	case *pg.Node_TypeCast:
		return isNullOfNone(x.TypeCast.Arg)
	case *pg.Node_AExpr:
		strict := func(n *pg.Node) bool { return n == nil || n.GetAConst() != nil || isNullOfNone(n) }
		return x.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP && strict(x.AExpr.Lexpr) && strict(x.AExpr.Rexpr) &&
			(isNullOfNone(x.AExpr.Lexpr) || isNullOfNone(x.AExpr.Rexpr))
	case *pg.Node_FuncCall:
		_, name := pgtree.Callee(x.FuncCall)
		return slices.Contains([]string{"avg", "sum", "min", "max", "stddev", "variance", "percentile_cont", "percentile_disc"}, name) &&
			pgtree.IsAggregate(n)
	}
	return false
}

// spans are the places of expressions in the text of the client.
func (s *seeker) spans(list ...*pg.Node) (out []Span, ok bool) {
	for _, n := range list {
		span, found := s.l.span(n)
		own, also := s.clients(span)
		if !found || !also {
			return nil, false
		}
		out = append(out, own)
	}
	return out, true
}

// ties lists those of a sub-select of one value, false if anything else in it is of the query around it or says which rows of its
// result there are.
func (s *seeker) ties(sel *pg.SelectStmt, own *scope) (list []tie, ok bool) {
	bare := sel.Op <= pg.SetOperation_SETOP_NONE && sel.WithClause == nil && len(sel.GroupClause) == 0 && sel.HavingClause == nil &&
		len(sel.DistinctClause) == 0 && len(sel.SortClause) == 0 && sel.LimitCount == nil && sel.LimitOffset == nil &&
		len(sel.WindowClause) == 0 && len(sel.LockingClause) == 0 && len(sel.ValuesLists) == 0 && len(sel.TargetList) == 1 &&
		!pgtree.IsStar(sel.TargetList[0].GetResTarget().GetVal())
	if !bare || slices.ContainsFunc(own.items, func(it *item) bool { return !it.known }) {
		return nil, false
	}
	rest := slices.Concat(sel.TargetList, sel.FromClause)
	for _, c := range pgtree.Conjuncts(sel.WhereClause) {
		x := c.GetAExpr()
		t := tie{c, x.GetLexpr(), x.GetRexpr()}
		if s.sideOf(t.inner, own) == outside {
			t.inner, t.outer = t.outer, t.inner
		}
		equal := x.GetKind() == pg.A_Expr_Kind_AEXPR_OP && len(x.GetName()) == 1 && x.Name[0].GetString_().GetSval() == "="
		if !equal || s.sideOf(t.inner, own) != inside || s.sideOf(t.outer, own) != outside ||
			s.cat.Grouped(own.origins(t.inner)) != ast.Apart { // no group would be shown
			rest = append(rest, c)
			continue
		}
		list = append(list, t)
	}
	foreign := func(n *pg.Node) bool { side := s.sideOf(n, own); return side == outside || side == both }
	return list, len(list) > 0 && !slices.ContainsFunc(rest, foreign)
}

// A side says of which query the columns of an expression are.
type side uint8

const (
	neither side = 0
	inside  side = 1
	outside side = 2
	both         = inside | outside
)

// sideOf looks at the columns of an expression. A query in it that refers to another one is taken to have columns of both.
func (s *seeker) sideOf(n *pg.Node, own *scope) (of side) {
	pgtree.Visit(n, func(n *pg.Node) {
		switch x := n.Node.(type) {
		case *pg.Node_ColumnRef:
			switch own.reach(x.ColumnRef) {
			case 0:
				of |= inside
			case -1:
				of |= both
			default:
				of |= outside
			}
		case *pg.Node_SelectStmt:
			if level := s.levels[x.SelectStmt]; level == nil || level.scope.escape >= 0 {
				of |= both
			}
		default:
			pgtree.Children(n, func(n *pg.Node) { of |= s.sideOf(n, own) })
		}
	})
	return of
}
