package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// A queries has the level of each query of a statement.
type queries map[*pg.SelectStmt]*level

// A correlation ties a query to each row of the query around it, by equalities of which one is of privacy units, or of a key that
// determines them. Rows of the unit of that row are all that such a query reads for it: a group of the ties, or the first rows of one.
type correlation struct {
	own  *scope
	ties []tie
	rest []*pg.Node // conditions on rows of the query's own
	// keyed says that no equality is of units: the rows are those of a key.
	keyed bool
}

// A tie is an equality between a query and the one around it.
type tie struct{ whole, inner, outer *pg.Node }

// correlation returns how a query is tied to the one around it; false where anything but its ties and targets refers to that one,
// or to another.
func (q queries) correlation(sel *pg.SelectStmt, around *scope) (c correlation, ok bool) {
	level := q[sel]
	if level == nil || around == nil || sel.Op > pg.SetOperation_SETOP_NONE || sel.WithClause != nil || len(sel.ValuesLists) > 0 ||
		len(sel.FromClause) == 0 || len(sel.LockingClause) > 0 || len(sel.WindowClause) > 0 || !numbersRows(sel) ||
		pgtree.Holds(pgtree.IsWindowCall, sel.TargetList...) {
		return c, false
	}
	c.own = level.scope
	unknown := func(it *item) bool { return !it.known }
	if c.own.parent == nil || c.own.parent.parent != around || slices.ContainsFunc(c.own.items, unknown) {
		return c, false
	}
	parts := keyParts{}
	c.keyed = true
	for _, n := range pgtree.Conjuncts(sel.WhereClause) {
		t, ok := q.tieOf(n, c.own)
		if !ok {
			c.rest = append(c.rest, n)
			continue
		}
		c.ties = append(c.ties, t)
		c.keyed = c.keyed && (!c.own.isUnit(t.inner) || !around.isUnit(t.outer))
		parts.add(inBoth(c.own.holdsOf(t.inner), around.holdsOf(t.outer)))
	}
	others := slices.Concat(c.rest, sel.FromClause, sel.GroupClause, []*pg.Node{sel.HavingClause})
	return c, (!c.keyed || parts.whole()) && q.within(c.own, others...)
}

// ofUnit reports whether a query has groups of rows that are of the unit of each row around it.
func (q queries) ofUnit(sel *pg.SelectStmt, around *scope) bool {
	c, ok := q.correlation(sel, around)
	return ok && (q.oneGroup(sel, c.own) || q.ownRows(sel, c.own))
}

// oneGroup reports whether a query has one row of aggregates, whatever its rows are: each aggregate is of its own columns, and all
// else in its targets is of the query around it.
func (q queries) oneGroup(sel *pg.SelectStmt, own *scope) bool {
	if !pgtree.IsAggregated(sel) || len(sel.GroupClause) > 0 || sel.HavingClause != nil || len(sel.DistinctClause) > 0 ||
		len(sel.SortClause) > 0 || sel.LimitCount != nil {
		return false
	}
	apart := true
	var look func(n *pg.Node)
	look = func(n *pg.Node) {
		switch {
		case n.GetSelectStmt() != nil:
			apart = apart && q.reach(own, n) == 0
		case pgtree.IsAggregate(n):
			apart = apart && n.GetFuncCall() != nil && !pgtree.Holds(isSubLink, n) && q.within(own, n)
		case n.GetColumnRef() != nil:
			apart = apart && q.reach(own, n) == only(around)
		default:
			pgtree.Children(n, look)
		}
	}
	pgtree.VisitAll(sel.TargetList, look)
	return apart
}

// numbersRows reports whether OFFSET skips none of the rows of a query, or so many of those that LIMIT has.
func numbersRows(sel *pg.SelectStmt) bool {
	skipped, known := skippedRows(sel)
	return known && (skipped == 0 || sel.LimitCount != nil && sel.LimitOption != pg.LimitOption_LIMIT_OPTION_WITH_TIES)
}

// ownRows reports whether a query has rows of its own, or groups of them: those of each row around it have the same targets and the
// same order.
func (q queries) ownRows(sel *pg.SelectStmt, own *scope) bool {
	limited := sel.LimitCount != nil
	ungrouped := len(sel.GroupClause) == 0 && (sel.HavingClause != nil || pgtree.IsAggregated(sel))
	if pgtree.IsDistinctOn(sel) || ungrouped ||
		limited && len(sel.DistinctClause) > 0 || !limited && slices.ContainsFunc(sel.SortClause, computes) {
		return false
	}
	outputs := outputNames(sel)
	foreign := func(n *pg.Node) bool {
		_, number := pgtree.Position(n.GetSortBy().GetNode())
		return limited && !number && !isOutput(n, outputs) && !q.within(own, n)
	}
	return q.within(own, sel.TargetList...) && !slices.ContainsFunc(sel.SortClause, foreign)
}

// tieOf returns the tie that a condition is.
func (q queries) tieOf(n *pg.Node, own *scope) (tie, bool) {
	e := n.GetAExpr()
	if e.GetKind() != pg.A_Expr_Kind_AEXPR_OP || pgtree.OperatorName(e) != "=" || e.Lexpr == nil {
		return tie{}, false
	}
	left, right := q.reach(own, e.Lexpr), q.reach(own, e.Rexpr)
	switch {
	case left == only(here) && right == only(around):
		return tie{n, e.Lexpr, e.Rexpr}, true
	case left == only(around) && right == only(here):
		return tie{n, e.Rexpr, e.Lexpr}, true
	}
	return tie{}, false
}

// within reports whether expressions have columns of the query itself alone, or none.
func (q queries) within(own *scope, list ...*pg.Node) bool {
	return !slices.ContainsFunc(list, func(n *pg.Node) bool { return q.reach(own, n)&^only(here) != 0 })
}

// reached are the queries whose columns an expression of a query has, as bits.
type reached uint8

// Places of columns: the query itself, the one around it, which is two scopes away since a sub-select has one of its own, and others.
const (
	here   = 0
	around = 2
	beyond = 7
)

func only(place int) reached { return 1 << place }

// reach looks at the columns of an expression of a query, those in sub-selects included.
func (q queries) reach(own *scope, n *pg.Node) reached { return q.reachFrom(own, 0, n) }

// reachFrom looks at those of an expression of a level that is so many scopes below the query.
func (q queries) reachFrom(s *scope, below int, n *pg.Node) (r reached) {
	pgtree.Visit(n, func(n *pg.Node) {
		switch x := n.Node.(type) {
		case *pg.Node_ColumnRef:
			if to := s.reach(x.ColumnRef) - below; to >= -below {
				r |= placed(to)
			} else {
				r |= only(beyond)
			}
		case *pg.Node_SelectStmt:
			r |= q.reachOfQuery(s, below, x.SelectStmt)
		default:
			pgtree.Children(n, func(n *pg.Node) { r |= q.reachFrom(s, below, n) })
		}
	})
	return r
}

// placed is the place of a column that is so many scopes away: none if it is of a query below.
func placed(scopes int) reached {
	switch {
	case scopes < 0:
		return 0
	case scopes == here || scopes == around:
		return only(scopes)
	}
	return only(beyond)
}

// reachOfQuery looks at the columns of a query below a level.
func (q queries) reachOfQuery(s *scope, below int, sel *pg.SelectStmt) (r reached) {
	level := q[sel]
	if level == nil {
		return only(beyond)
	}
	steps := 0
	for l := level.scope; l != s; l = l.parent {
		if l == nil {
			return only(beyond)
		}
		steps++
	}
	pgtree.Others(sel.ProtoReflect(), func(n *pg.Node) { r |= q.reachFrom(level.scope, below+steps, n) })
	return r
}

func isSubLink(n *pg.Node) bool { return n.GetSubLink() != nil }
