package repair

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// lateralToJoin joins sub-selects that LATERAL runs for each row:
//
//	FROM p, LATERAL (SELECT x FROM t WHERE t.p = p.id) q
//	FROM p JOIN (SELECT t.p, x FROM t) q ON q.p = p.id
//
// It applies if an equality ties the sub-select to the row. Aggregates become groups, with zero for a count of no rows. LIMIT becomes
// DISTINCT ON, or numbers of rows. Only WITH TIES is lost.
func lateralToJoin(r *refused) {
	const most = 3
	flat, now := "", r
	for range most {
		d := now.flatter()
		if d == nil || now.lost {
			break
		}
		flat = now.edited(now.all(), edit{now.Span, d.String()})
		t, ok := read(flat)
		if !ok {
			return
		}
		if now = newRefused(t, -1, r.Schema); now.query == nil {
			return
		}
	}
	if flat != "" {
		r.add(flat)
	}
}

// flatter writes one of these queries as a sub-select, nil if there is none that can be.
func (r *refused) flatter() *draft {
	for k, n := range r.FromClause {
		for j := n.GetJoinExpr(); j != nil; j = j.Larg.GetJoinExpr() {
			if j.Rarg.GetRangeSubselect().GetLateral() && (j.Jointype == pg.JoinType_JOIN_INNER || j.Jointype == pg.JoinType_JOIN_LEFT) {
				return r.joinedLateral(j)
			}
		}
		if n.GetRangeSubselect().GetLateral() && k > 0 {
			return r.joinedLateral(&pg.JoinExpr{Jointype: pg.JoinType_JOIN_INNER, Rarg: n})
		}
	}
	return nil
}

// joinedLateral writes the query on the right of a join.
func (r *refused) joinedLateral(j *pg.JoinExpr) *draft {
	s := j.Rarg.GetRangeSubselect()
	sub, alias := r.located(s.Subquery.GetSelectStmt()), s.GetAlias().GetAliasname()
	if sub == nil || alias == "" || len(sub.GroupClause) > 0 || len(sub.TargetList) == 0 {
		return nil
	}
	tied, own, outer := r.tie(sub)
	if tied == nil {
		return nil
	}
	q := sub.draft()
	q.without(tied)
	on, key, first := ident(alias)+"."+r.name(own)+" = "+r.text(outer), r.text(own), sub.items()
	isKey := func(t *pg.Node) bool { return columnOf(valueOf(t)) == columnOf(own) }
	if !slices.ContainsFunc(sub.TargetList, isKey) {
		q.before(first[0], key+", ")
	}
	if n, limited := pgtree.Position(sub.LimitCount); limited && sub.LimitOffset == nil {
		on += numbered(q, key, ident(alias), n)
	} else if sub.LimitCount != nil || sub.LimitOffset != nil || pgtree.IsDistinctOn(sub.SelectStmt) {
		return nil
	}
	d, left, quals := r.draft(), j.Jointype == pg.JoinType_JOIN_LEFT, j.Quals
	if pgtree.IsTrue(quals) {
		quals = nil
	}
	if pgtree.IsAggregated(sub.SelectStmt) { // LATERAL has a row for each outer row
		if !left && quals != nil {
			d.require(r.bracketed(quals, r.zeros(sub, alias, quals)...))
			quals = nil
		}
		left = true
		q.set(groups, key)
		list := slices.Concat(r.TargetList, []*pg.Node{r.WhereClause, r.HavingClause}, r.GroupClause, r.SortClause)
		d.edits = append(d.edits, r.zeros(sub, alias, list...)...)
	}
	if quals != nil {
		on += " AND " + r.bracketed(quals)
	}
	r.rejoin(d, j, q, left, on)
	return d
}

// rejoin puts a query in the place of that of a join, with other words around it.
func (r *refused) rejoin(d *draft, j *pg.JoinExpr, q *draft, left bool, on string) {
	word := "JOIN"
	if left {
		word = "LEFT JOIN"
	}
	item := r.item(j.Rarg)
	from, to := r.tokens(item)
	begin := from - 1
	if r.toks.Kind(begin) == pg.Token_JOIN {
		for slices.Contains([]pg.Token{pg.Token_CROSS, pg.Token_LEFT, pg.Token_INNER_P, pg.Token_OUTER_P}, r.toks.Kind(begin-1)) {
			begin--
		}
	} else {
		word = " " + word
	}
	d.put(r.between(begin, from+1), word) // with LATERAL
	body := pgtree.Span{Start: r.toks[from+1].Start, End: item.End}
	d.put(body, r.edited(body, edit{q.Span, q.String()}))
	switch {
	case r.toks.Kind(to) != pg.Token_ON:
		d.after(item, " ON "+on)
	case j.Quals != nil:
		d.put(r.outer(r.place(j.Quals)), on)
	}
}

// outer is an expression with the brackets around it.
func (t *statement) outer(s pgtree.Span) pgtree.Span {
	from, to := t.tokens(s)
	for from > 0 && t.toks.Kind(from-1) == lex.OpenParen && t.toks.Kind(to) == lex.CloseParen {
		from, to = from-1, to+1
	}
	return t.between(from, to)
}

// tie returns the equality that ties a query to the query around it, with the query's own column and the other one.
func (r *refused) tie(q *query) (tied, own, outer *pg.Node) {
	for _, c := range pgtree.Conjuncts(q.WhereClause) {
		left, right, ok := equality(c)
		if !ok || columnOf(left) == "" || columnOf(right) == "" {
			continue
		}
		switch of, other := r.itemOf(q.SelectStmt, left) != nil, r.itemOf(q.SelectStmt, right) != nil; {
		case of && !other:
			return c, left, right
		case other && !of:
			return c, right, left
		}
	}
	return nil, nil, nil
}

// numbered takes LIMIT out of a query. It writes the first row of each key with DISTINCT ON, and numbers the rows if more are asked for.
// It returns the condition that the join then needs.
func numbered(q *draft, key, alias string, n int) string {
	sorts := q.clause(order)
	q.set(limit, "")
	if n == 1 {
		q.set(distinct, "DISTINCT ON ("+key+")")
		q.set(order, strings.TrimSuffix(key+", "+sorts, ", "))
		return ""
	}
	q.set(order, "")
	if sorts != "" {
		sorts = " ORDER BY " + sorts
	}
	q.append(targets, ", row_number() OVER (PARTITION BY "+key+sorts+") AS place")
	return " AND " + alias + ".place <= " + strconv.Itoa(n)
}

// zeros are the edits that put zero in the place of counts of no rows, which an outer join makes NULL.
func (r *refused) zeros(q *query, alias string, list ...*pg.Node) (edits []edit) {
	counts := map[string]bool{}
	for _, t := range q.TargetList {
		if name, known := pgtree.OutputName(t.GetResTarget()); known && nameOf(valueOf(t)) == "count" {
			counts[name] = true
		}
	}
	for _, ref := range find(isColumn, list...) {
		path := columnPath(ref)
		if n := len(path); n > 0 && counts[path[n-1]] && (n == 1 || path[n-2] == alias) {
			edits = append(edits, r.instead(ref, "coalesce("+r.text(ref)+", 0)"))
		}
	}
	return edits
}
