package marks

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// A marker knows the relations of names that WITH gives.
type marker struct {
	named map[string]*relation
	// known is set to false where columns cannot be told.
	known *bool
}

func (q *marker) with(name string, r *relation) *marker {
	own := &marker{named: make(map[string]*relation, len(q.named)+1), known: q.known}
	for n, of := range q.named {
		own.named[n] = of
	}
	own.named[name] = r
	return own
}

// query marks a SELECT. outer are the levels around it, the nearest first.
func (q *marker) query(sel *pg.SelectStmt, outer []*level) *relation {
	for _, n := range sel.GetWithClause().GetCtes() {
		q = q.common(n.GetCommonTableExpr(), sel.WithClause.Recursive, outer)
	}
	if sel.Op > pg.SetOperation_SETOP_NONE {
		return q.operation(sel, outer)
	}
	if len(sel.ValuesLists) > 0 {
		return q.values(sel, outer)
	}
	return q.plain(sel, outer)
}

// common adds a WITH query. One that is recursive is a fixed point: marks only grow, and there are few.
func (q *marker) common(c *pg.CommonTableExpr, recursive bool, outer []*level) *marker {
	body := c.Ctequery.GetSelectStmt()
	names, _ := pgtree.Strings(c.Aliascolnames)
	if body == nil { // INSERT, UPDATE or DELETE
		*q.known = false
		return q.with(c.Ctename, &relation{rows: Unknown})
	}
	if !recursive || body.Op == pg.SetOperation_SETOP_NONE {
		return q.with(c.Ctename, q.query(body, outer).renamed(names))
	}
	r := q.query(body.Larg, outer).renamed(names)
	for {
		next := q.with(c.Ctename, r).query(body, outer).renamed(names)
		if same(r, next) {
			return q.with(c.Ctename, r)
		}
		r = next
	}
}

func same(r, s *relation) bool {
	if len(r.columns) != len(s.columns) || r.rows != s.rows {
		return false
	}
	for i := range r.columns {
		if r.columns[i].mark != s.columns[i].mark {
			return false
		}
	}
	return true
}

// operation marks UNION, INTERSECT or EXCEPT. All but UNION ALL compare values.
func (q *marker) operation(sel *pg.SelectStmt, outer []*level) *relation {
	a, b := q.query(sel.Larg, outer), q.query(sel.Rarg, outer)
	r := &relation{rows: max(a.rows, b.rows), whole: a.whole && b.whole}
	for i, c := range a.columns {
		if i < len(b.columns) {
			c.mark = max(c.mark, b.columns[i].mark)
		}
		r.columns = append(r.columns, c)
	}
	if sel.Op != pg.SetOperation_SETOP_UNION || !sel.All {
		r.rows = r.any()
	}
	if sel.LimitCount != nil || sel.LimitOffset != nil {
		r.rows = r.any()
	}
	return r
}

func (q *marker) values(sel *pg.SelectStmt, outer []*level) *relation {
	r, l := &relation{whole: true}, &level{marker: q, outer: outer}
	for _, row := range sel.ValuesLists {
		for i, n := range row.GetList().GetItems() {
			if i == len(r.columns) {
				r.columns = append(r.columns, marked{name: numbered("column", i)})
			}
			r.columns[i].mark = max(r.columns[i].mark, l.expr(n))
		}
	}
	return r
}
