package repair

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// withAlone asks for what a WITH query has.
func withAlone(r *refused) {
	for _, c := range r.ctes.GetCtes() {
		if q := r.statement.query(c.GetCommonTableExpr().GetCtequery().GetSelectStmt()); q != nil && !r.ctes.Recursive {
			r.add(r.edited(q.whole))
		}
	}
}

// valueAlone asks for the value of a sub-select, which the client can then write as a literal. If the sub-select refers to the row
// around it, the rule asks for the value in each group that such a row can look up, and for the average of these values.
func valueAlone(r *refused) {
	for _, n := range find(isSubLink, &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: r.SelectStmt}}) {
		q := r.statement.query(n.GetSubLink().Subselect.GetSelectStmt())
		if q == nil || n.GetSubLink().SubLinkType != pg.SubLinkType_EXPR_SUBLINK {
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

// listToGroups asks for the values among which IN looks, as groups: of x IN (SELECT y FROM t), SELECT y, count(*) FROM t GROUP BY y.
func listToGroups(r *refused) {
	for _, n := range find(isSubLink, &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: r.SelectStmt}}) {
		q := r.statement.query(n.GetSubLink().Subselect.GetSelectStmt())
		if q == nil || n.GetSubLink().SubLinkType != pg.SubLinkType_ANY_SUBLINK || len(q.TargetList) != 1 {
			continue
		}
		d, key := q.with(from, where), r.text(valueOf(q.TargetList[0]))
		d.set(targets, key+", count(*)")
		d.set(groups, key)
		r.ask(d.String())
	}
}
