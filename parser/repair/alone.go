package repair

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// withAlone asks for a WITH query alone:
//
//	WITH q AS (SELECT count(*) FROM t) SELECT ... FROM q
//	SELECT count(*) FROM t
//
// It applies unless WITH is RECURSIVE. All that is done with the query is lost.
func withAlone(r *refused) {
	for _, c := range r.ctes.GetCtes() {
		if q := r.located(c.GetCommonTableExpr().GetCtequery().GetSelectStmt()); q != nil && !r.ctes.Recursive {
			r.add(r.edited(q.whole))
		}
	}
}

// valueAlone asks for the value of a sub-select, which the client can then write as a literal:
//
//	SELECT ... FROM t WHERE x > (SELECT avg(x) FROM t)
//	SELECT avg(x) FROM t
//
// If an equality ties the sub-select to the row around it, the rule also asks for the value in each group, and for the average of these
// values. The query around the sub-select is lost.
func valueAlone(r *refused) {
	for _, n := range nodesOf(r.SelectStmt, isSubLink) {
		q := r.located(n.GetSubLink().Subselect.GetSelectStmt())
		if q == nil || n.GetSubLink().SubLinkType != pg.SubLinkType_EXPR_SUBLINK || len(q.TargetList) != 1 {
			continue
		}
		r.ask(r.edited(q.whole))
		uncorrelated(r, q)
	}
}

// uncorrelated asks for the value of a sub-select in each group that the query around it can look up.
func uncorrelated(r *refused, q *query) {
	left, right, ok := equality(q.WhereClause)
	if !ok {
		return
	}
	for _, side := range []*pg.Node{left, right} {
		qualifier, _, qualified := strings.Cut(dotted(side), ".")
		if !qualified || aliased(q.FromClause, qualifier) == nil {
			continue
		}
		group := r.text(side)
		d := q.with(from)
		d.set(targets, group+", "+q.clause(targets))
		d.set(groups, group)
		r.ask(d.String())
		d.set(targets, group+", "+r.text(valueOf(q.TargetList[0]))+" AS value")
		r.ask("SELECT avg(value) FROM (" + d.String() + ") AS each")
	}
}

// listToGroups asks for the values among which IN looks, as groups:
//
//	SELECT ... FROM u WHERE x IN (SELECT y FROM t)
//	SELECT y, count(*) FROM t GROUP BY y
//
// The query around the sub-select is lost.
func listToGroups(r *refused) {
	for _, n := range nodesOf(r.SelectStmt, isSubLink) {
		q := r.located(n.GetSubLink().Subselect.GetSelectStmt())
		if q == nil || n.GetSubLink().SubLinkType != pg.SubLinkType_ANY_SUBLINK || len(q.TargetList) != 1 {
			continue
		}
		d, key := q.with(from, where), r.text(valueOf(q.TargetList[0]))
		d.set(targets, key+", count(*)")
		d.set(groups, key)
		r.ask(d.String())
	}
}
