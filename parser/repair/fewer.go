package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// limitBelow reads all rows of sub-selects:
//
//	SELECT count(*) FROM (SELECT a FROM t ORDER BY b LIMIT 1000) q
//	SELECT count(*) FROM (SELECT a FROM t) q
//
// It applies to LIMIT and OFFSET of sub-selects in FROM whose rows are aggregated. That rows are left out is lost.
func limitBelow(r *refused) {
	if !pgtree.IsAggregated(r.SelectStmt) {
		return
	}
	d := r.draft()
	for _, n := range find(func(n *pg.Node) bool { return n.GetRangeSubselect() != nil }, r.FromClause...) {
		q := r.located(n.GetRangeSubselect().GetSubquery().GetSelectStmt())
		plain := q != nil && !n.GetRangeSubselect().Lateral && !pgtree.IsAggregated(q.SelectStmt) && !pgtree.IsDistinctOn(q.SelectStmt)
		if !plain || !q.has(limit) {
			continue
		}
		for _, c := range []clause{order, limit} {
			d.put(q.parts[c].all, "")
		}
	}
	r.edit(d)
}

// fewerKeys groups by all keys but one:
//
//	SELECT a, b, count(*) FROM t GROUP BY a, b ORDER BY count(*)
//	SELECT a, count(*) FROM t GROUP BY a
//
// It applies to two keys and more: there may be too many groups. Each key is left out in turn, the last first. HAVING stays, the order and
// LIMIT are lost.
func fewerKeys(r *refused) {
	keys := r.keys(r.SelectStmt)
	if len(keys) < 2 || len(keys) != len(r.GroupClause) || pgtree.IsDistinct(r.SelectStmt) {
		return
	}
	for i := range slices.Backward(keys) {
		var rest []*pg.Node
		for j, k := range keys {
			if j != i && !same(k, keys[i]) {
				rest = append(rest, k)
			}
		}
		var shown []string
		for j, t := range r.TargetList {
			if val := valueOf(t); !same(val, keys[i]) {
				shown = append(shown, r.edited(r.items()[j]))
			}
		}
		d := r.with(from, where, having)
		d.set(targets, strings.Join(shown, ", "))
		d.set(groups, r.list(rest...))
		if len(shown) > 0 && len(rest) > 0 {
			r.ask(d.String())
		}
	}
}
