package source

import (
	"slices"

	"dpproxy/planner/scalar"
)

// IN and EXISTS of public rows restrict public groups as other conditions on these do: the mirror has both sides.
//
//	SELECT i.brand, count(*) FROM sales s JOIN items i ON i.id = s.item WHERE i.id IN (SELECT item FROM offers) GROUP BY i.brand
//
// A condition of the sub-select that cannot be written for the mirror is left out: there are more groups then, not fewer. So its opposite,
// NOT IN, restricts no groups.

// decidedByPublic reports whether a condition of the level is IN or EXISTS, of public rows alone.
func decidedByPublic(l *level, q *scalar.Query) bool {
	j := subselectOf(l, q)
	return j != nil && !j.not && !j.inner.Protected()
}

// subselectOf returns the sub-select of a condition of the level; nil if the condition is of another level.
func subselectOf(l *level, q *scalar.Query) *semijoin {
	all := l.semijoinsOf()
	if i := slices.IndexFunc(all, func(j *semijoin) bool { return j.query == q }); i >= 0 {
		return all[i]
	}
	return nil
}

// found writes IN or EXISTS of public rows for the mirror; ok is false of other conditions, and if a relation cannot be written.
func (d *domain) found(q *scalar.Query) (sql string, ok bool) {
	if !decidedByPublic(d.level, q) {
		return "", false
	}
	in := subselectOf(d.level, q).inner
	from, later, ok := onMirror(in, d.w, d.constants)
	if !ok {
		return "", false
	}
	d.later = d.later || later
	tied, _ := d.where(tying(in))
	return from + " AND " + tied + ")", true
}

// onMirror begins EXISTS of the rows of a level that is public.
func onMirror(l *level, w *scalar.Writer, constants scalar.Inlined) (sql string, later, ok bool) {
	var cols []*scalar.Column
	for _, r := range l.relations {
		cols = append(cols, r.columns[0])
	}
	part, ok, err := publicPart(l, w, constants, cols)
	return "EXISTS (SELECT FROM " + part.From + " WHERE " + part.Where, part.Later, ok && err == nil
}

// tying returns the conditions of a sub-select that are about the row around it, and what IN compares.
func tying(l *level) (conds []condition) {
	for _, c := range slices.Concat(l.where, joinConditions(l.root)) {
		if !c.query && slices.ContainsFunc(c.x.Columns(), l.isOuter) {
			conds = append(conds, c)
		}
	}
	if l.match != nil {
		conds = append(conds, condition{x: l.match})
	}
	return conds
}

// levelOf returns the level of a condition: the level itself, or one in its FROM; nil if there is none.
func levelOf(l *level, q *scalar.Query) *level {
	if subselectOf(l, q) != nil {
		return l
	}
	for _, r := range l.relations {
		for _, b := range r.branches() {
			if at := levelOf(b.source, q); at != nil {
				return at
			}
		}
	}
	return nil
}
