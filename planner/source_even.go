package planner

import (
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/planner/scalar"
)

// Joins of protected rows are written as full joins: of an inner join, Postgres does not read
// one side if no row of the other is left, and the time of a statement would tell whether any
// row meets a condition. What is no row of the join that is meant is left out at the end, in
// a way from which Postgres cannot conclude that a lesser join will do.

// full writes a join as a full join, if an equality of columns links its sides; ok is false
// where none does. left, right and on are its texts, below the conditions on its rows.
func (p *sourceWriter) full(j *joined, left, right string, on []string, below []condition) (text string, ok bool, err error) {
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
	if j.outer {
		p.present = append(p.present, ownerOf(j.left).unit.SQL)
		return left + "\n  FULL JOIN " + right + " ON " + strings.Join(on, " AND "), true, nil
	}
	equal, err := p.conditions(links)
	if err != nil {
		return "", false, err
	}
	for _, pair := range equalities(links) {
		p.present = append(p.present, pair.a.SQL, pair.b.SQL)
	}
	for _, c := range on {
		if !slices.Contains(equal, c) {
			p.rest = append(p.rest, c)
		}
	}
	return left + "\n  FULL JOIN " + right + " ON " + strings.Join(equal, " AND "), true, nil
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

// ownerOf returns a protected relation that has a row in every row of the item.
func ownerOf(n node) *relation {
	rs := region(n)
	return rs[slices.IndexFunc(rs, func(r *relation) bool { return r.protected() && r.follows == nil })]
}

// scan writes a table, joined with those on the path to its unit.
func (p *sourceWriter) scan(r *relation, hops []*relation) string {
	var b strings.Builder
	b.WriteString(tableSQL(r))
	from := r
	for i, h := range hops {
		step := r.table.unit.steps[i]
		key, foreign := h.sql(step.key), from.sql(step.from)
		join := "JOIN"
		if p.keyed != nil {
			join = "FULL JOIN"
			p.present = append(p.present, key, foreign)
		}
		b.WriteString("\n  " + join + " " + tableSQL(h) + " ON " + key + " OPERATOR(pg_catalog.=) " + foreign)
		from = h
	}
	return b.String()
}

// where writes what rows of the join that is meant have to meet.
func (p *sourceWriter) where(conds []string) string {
	conds = append(slices.Clip(p.rest), conds...)
	if len(conds) == 0 {
		conds = []string{"TRUE"}
	}
	text := strings.Join(conds, " AND ")
	if len(p.present) == 0 {
		return text
	}
	var absent []string
	for _, c := range p.present {
		if x := c + " IS NULL"; !slices.Contains(absent, x) {
			absent = append(absent, x)
		}
	}
	return "CASE WHEN " + strings.Join(absent, " OR ") + " THEN FALSE ELSE " + text + " END"
}

// fence ends a sub-select of a condition whose rows an index finds: Postgres would else read
// it whole into a hash table for the first row that asks, or none if no row does.
func (s *source) fence() string {
	for _, t := range s.ties {
		r := s.home[t.a]
		if r != nil && r.rows == nil && r.table.begins(t.a.Name) {
			return "\n  OFFSET 0"
		}
	}
	return ""
}

// begins reports whether an index of the table begins with the column.
func (t *table) begins(column string) bool {
	c, ok := t.source.Column(column)
	return ok && t.source.Kind == 'r' && c.Type.Kind != 'd' &&
		slices.ContainsFunc(t.sorted, func(i catalog.Index) bool { return i.Columns[0] == column })
}
