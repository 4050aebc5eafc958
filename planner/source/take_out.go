package source

import (
	"slices"

	"dpproxy/planner/scalar"
)

// A sub-select that asks, of one column of its table, for another sub-select is two beside each other, if that column is the one that
// ties it to the row around:
//
//	p.id IN (SELECT v.patient_id FROM visits v WHERE v.cost > 5 AND NOT EXISTS (SELECT 1 FROM bills b WHERE b.patient_id = v.patient_id))
//
//	p.id IN (SELECT v.patient_id FROM visits v WHERE v.cost > 5) AND NOT EXISTS (SELECT 1 FROM bills b WHERE b.patient_id = p.id)
//
// INTERSECT and EXCEPT of tables are such sub-selects (package parser). An index may find the rows of each (subselect_by_index.go).

// takenOut are conditions that have been taken out of a sub-select, and what they ask for.
type takenOut struct {
	conds []scalar.Expr
	asked []*semijoin
}

// takeOut takes out of a level, before it is proved, the conditions that can stand beside it.
func takeOut(t *terms, r *resolved) (out takenOut, err error) {
	home, table := r.root.(*relation)
	if !table || home.rows != nil || len(r.ties) != 1 || r.unmatched || !scalar.SameType(r.ties[0].a, r.ties[0].b) {
		return out, nil
	}
	where := r.where
	r.where = nil
	for _, c := range where {
		list := askedBy(r, c)
		if len(list) == 0 || slices.ContainsFunc(list, func(j *semijoin) bool { return !tiedTo(j.inner, r.ties[0].a) }) {
			r.where = append(r.where, c)
			continue
		}
		out.conds = append(out.conds, c.x)
		for _, j := range list {
			r.subselects = slices.DeleteFunc(r.subselects, func(o *semijoin) bool { return o == j })
			if j, err = tiedAnew(t, j, r.ties[0]); err != nil {
				return out, err
			}
			out.asked = append(out.asked, j)
		}
	}
	return out, nil
}

// askedBy returns the sub-selects of a condition that asks for nothing else.
func askedBy(r *resolved, c condition) (list []*semijoin) {
	queries, _ := scalar.Asked(c.x)
	for _, j := range r.subselects {
		if slices.Contains(queries, j.query) {
			list = append(list, j)
		}
	}
	return list
}

// tiedTo reports whether nothing but equalities with one column ties the level to the row around.
func tiedTo(l *level, c *scalar.Column) bool {
	other := func(t pair) bool { return t.b != c }
	if len(l.ties) == 0 || l.unmatched || slices.ContainsFunc(l.ties, other) {
		return false
	}
	_, _, tied := scalar.Equality(l.match)
	return l.match == nil || tied
}

// tiedAnew is the sub-select with the column that another ties to, in the place of its own.
func tiedAnew(t *terms, j *semijoin, to pair) (*semijoin, error) {
	anew := func(x scalar.Expr) scalar.Expr {
		if a, b, ok := scalar.Equated(x); ok && (isColumnOf(a, to.a) || isColumnOf(b, to.a)) {
			if isColumnOf(b, to.a) {
				a = b
			}
			return scalar.Replaced(x, a, &scalar.Ref{Column: to.b, At: a.Pos()})
		}
		return x
	}
	names := *j.inner.resolved
	names.where = slices.Clone(names.where)
	for i, c := range names.where {
		names.where[i].x = anew(c.x)
	}
	if names.match != nil {
		names.match = anew(names.match)
	}
	names.ties = slices.Clone(names.ties)
	for i := range names.ties {
		names.ties[i].b = to.b
	}
	p, err := prove(t, &names)
	if err != nil {
		return nil, err
	}
	inner := *j.inner
	inner.bounded, err = boundJoins(t, p)
	out := *j
	out.inner = &inner
	j.query.Uses = []*scalar.Column{to.b}
	return &out, err
}

func isColumnOf(x scalar.Expr, c *scalar.Column) bool {
	col, ok := scalar.PlainColumn(x)
	return ok && col == c
}
