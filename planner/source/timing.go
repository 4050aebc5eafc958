package source

import (
	"slices"
	"strings"

	"dpproxy/planner/scalar"
)

// The time of a statement must not tell whether any row meets a condition. Of an inner join
// Postgres does not read one side if no row of the other is left. So conditions on rows of a
// join come after it, in a form that Postgres cannot split; and where a side is a query with
// conditions of its own, the join is a full join, which reads both sides, and what is no row
// of the join that is meant is left out after it.

// readBothSides writes a join of protected rows that reads both sides whole, if an equality of columns
// links them; ok is false where none does. left and right are the texts of its sides, on are
// conditions on matches of the right one, below are those on the rows of the join.
func (p *sourceWriter) readBothSides(j *joined, left, right string, on func(rest []string) []string, below []condition) (text string, ok bool, err error) {
	if p.keyed == nil || !holdsProtected(j) {
		return "", false, nil
	}
	if j.outer {
		below = j.on
	}
	links := linking(j, below)
	if len(links) == 0 || j.outer && !holdsProtected(j.left) {
		return "", false, nil
	}
	equal, err := p.conditions(links)
	if err != nil {
		return "", false, err
	}
	rest, err := p.conditions(j.on)
	if err != nil {
		return "", false, err
	}
	rest = slices.DeleteFunc(rest, func(c string) bool { return slices.Contains(equal, c) })
	kind := p.joinKind(j, links)
	if j.outer {
		equal = append(equal, on(rest)...)
	} else {
		p.residual = append(p.residual, rest...)
	}
	return left + " " + kind + " " + right + " ON " + strings.Join(equal, " AND "), true, nil
}

// joinKind notes how to tell the rows of the join that is meant, and returns how it is written.
func (p *sourceWriter) joinKind(j *joined, links []condition) string {
	pairs := equalities(links)
	switch {
	case !j.outer:
		for _, pair := range pairs {
			p.notNull = append(p.notNull, pair.a.Presence(), pair.b.Presence())
		}
		if p.unfiltered(j.left) && p.unfiltered(j.right) {
			return "JOIN"
		}
		return "FULL JOIN"
	case p.unfiltered(j.left):
		p.touch = append(p.touch, pairs[0].a.Presence(), pairs[0].b.Presence())
		return "LEFT JOIN"
	}
	p.notNull = append(p.notNull, p.writtenUnit(p.ownerRelation(j.left)).Read())
	return "FULL JOIN"
}

// unfiltered reports whether the rows of an item are those of tables, whatever conditions there are.
func (p *sourceWriter) unfiltered(n node) bool {
	switch n := n.(type) {
	case *relation:
		return n.rows == nil && p.rowsPerUnit(n) == 0
	case *joined:
		return p.unfiltered(n.left) && (n.outer || p.unfiltered(n.right))
	}
	return false
}

// linking returns the conditions that are equalities of a column of each side.
func linking(j *joined, conds []condition) []condition {
	var links []condition
	for _, c := range conds {
		for _, x := range scalar.Conjuncts(c.x) {
			a, b, ok := scalar.Equality(x)
			if ok && (holdsColumn(j.left, a) && holdsColumn(j.right, b) || holdsColumn(j.left, b) && holdsColumn(j.right, a)) {
				links = append(links, condition{x: x})
			}
		}
	}
	return links
}

// between writes the conditions on both sides of a join, and on nothing else. Where no equality
// links the sides, Postgres has to know them to find the rows.
func (p *sourceWriter) between(j *joined, conds []condition) ([]string, error) {
	var both []condition
	for _, c := range conds {
		var left, right, other bool
		for _, col := range c.x.Columns() {
			l, r := holdsColumn(j.left, col), holdsColumn(j.right, col)
			left, right, other = left || l, right || r, other || !l && !r
		}
		if left && right && !other && !c.query {
			both = append(both, c)
		}
	}
	return p.conditions(both)
}

func holdsColumn(n node, c *scalar.Column) bool {
	return slices.ContainsFunc(relationsOf(n), func(r *relation) bool { return slices.Contains(r.columns, c) })
}

// ownerRelation returns a protected relation that has a row in every row of the item.
func (p *sourceWriter) ownerRelation(n node) *relation {
	rs := region(n)
	return rs[slices.IndexFunc(rs, func(r *relation) bool { return r.protected() && !p.followed(r) })]
}

// scan writes a table, joined with those on the path to its unit.
func (p *sourceWriter) scan(r *relation, hops []*relation) string {
	var b strings.Builder
	b.WriteString(tableSQL(r))
	from := r
	for i, h := range hops {
		step := r.table.Unit.Steps[i]
		key, foreign := h.sql(step.Key), from.sql(step.From)
		if p.keyed != nil {
			p.notNull = append(p.notNull, key, foreign)
		}
		b.WriteString(" JOIN " + tableSQL(h) + " ON " + key + " OPERATOR(pg_catalog.=) " + foreign)
		from = h
	}
	return b.String()
}

// where writes what rows of the join that is meant have to meet: after the join, of which it
// mentions every table.
func (p *sourceWriter) where(conds []string) string {
	conds = append(slices.Clip(p.residual), conds...)
	if len(conds) == 0 {
		conds = []string{"TRUE"}
	}
	text := strings.Join(conds, " AND ")
	if len(p.notNull) == 0 && len(p.touch) == 0 {
		return text
	}
	var absent []string
	for _, c := range p.notNull {
		absent = append(absent, "pg_catalog.num_nulls("+c+") OPERATOR(pg_catalog.>) 0")
	}
	for _, c := range p.touch {
		absent = append(absent, "pg_catalog.num_nulls("+c+") OPERATOR(pg_catalog.<) 0")
	}
	slices.Sort(absent)
	return "CASE WHEN " + strings.Join(slices.Compact(absent), " OR ") + " THEN FALSE ELSE " + text + " END"
}

// fence ends a sub-select of a condition whose rows an index finds: Postgres would else read
// it whole into a hash table for the first row that asks, or none if no row does.
func (r *resolved) fence() string {
	for _, t := range r.ties {
		home := r.home[t.a]
		if home != nil && home.rows == nil && home.table.Begins(t.a.Name) {
			return " OFFSET 0"
		}
	}
	return ""
}
