package source

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// How long a statement takes must not tell whether any row meets a condition. [sqltext.Even] sees to
// that. This file notes for it which conditions link the sides of a join; subselect_by_index.go notes which
// sub-selects are looked up.

// annotate notes how the sides of a join hang together. links are conditions on its rows, or, of an
// outer join, on matches; conds are those of the level around it.
func (p *sourceWriter) annotate(to *sqltext.Join, j *joined, links, conds []condition) (err error) {
	for _, c := range linking(p.level.resolved, j, links) {
		sql, err := p.w.Expr(c.x)
		if err != nil {
			return err
		}
		for _, pair := range equalities([]condition{c}) {
			to.Links = append(to.Links, sqltext.Link{SQL: sql, Left: end(j, pair.a, pair.b), Right: end(j, pair.b, pair.a)})
		}
		if list := computedLinks(p.level.resolved, c.x); len(list) > 0 {
			to.Links = append(to.Links, sqltext.Link{SQL: sql, Left: p.computedEnd(list[0]), Right: end(j, list[0].Column, nil)})
		}
	}
	if j.outer {
		to.LeftUnit = p.presence(j.left)
		return nil
	}
	if to.Units, err = p.unitLinks(j); err != nil {
		return err
	}
	to.Beyond, err = p.between(j, conds)
	return err
}

// unitLinks are the equalities of the units of relations on both sides of an inner join, which follow from those of the level.
func (p *sourceWriter) unitLinks(j *joined) (links []sqltext.Link, err error) {
	for _, l := range region(j.left) {
		for _, r := range region(j.right) {
			if !l.protected() || !r.protected() || !hasUnit(l) || !hasUnit(r) || !(facts{p.level.typ}).same(l.unit, r.unit) {
				continue
			}
			c, err := (&reference{from: l, to: r}).condition()
			if err != nil {
				return nil, err
			}
			sql, err := p.w.Expr(c.x)
			if err != nil {
				return nil, err
			}
			links = append(links, sqltext.Link{SQL: sql, Left: end(j, l.unit, r.unit), Right: end(j, r.unit, l.unit)})
		}
	}
	return links, nil
}

// end tells of a column in a link. Where the unit is NULL, the row is nobody's. A column of the inner side of an
// outer join is NULL in rows that have no match there.
func end(j *joined, c, other *scalar.Column) sqltext.End {
	e := sqltext.End{Present: c.Presence()}
	for _, r := range relationsOf(j) {
		if slices.Contains(r.columns, c) {
			e.Of, e.Indexed = r.alias, r.rows == nil && r.table.Begins(c.Name)
			e.Many = r.protected() && r.unit.Base() != c.Base() && !ofOne(r, c.Name)
			e.Null = !c.NotNull && r.unit != c || !j.outer && !slices.Contains(region(j), r)
			for _, to := range relationsOf(j) {
				e.Foreign = e.Foreign || slices.Contains(to.columns, other) && refers(r, c.Name, to, other.Name)
			}
		}
	}
	return e
}

// refers reports whether a foreign key of one column, without NULL, refers to a column of another relation.
func refers(from *relation, column string, to *relation, key string) bool {
	if from.rows != nil || from.listed || to.rows != nil || to.listed || to.only {
		return false
	}
	if !from.table.Source.KeysHold() {
		return false
	}
	c, ok := from.table.Source.Column(column)
	return ok && c.NotNull && slices.ContainsFunc(from.table.Source.Foreign, func(fk catalog.ForeignKey) bool {
		return fk.References == to.table.Source.Name && slices.Equal(fk.Columns, []string{column}) && slices.Equal(fk.Target, []string{key})
	})
}

// linking returns the conditions that are equalities of a column of each side, or of a column of one and an expression over the other.
func linking(r *resolved, j *joined, conds []condition) []condition {
	var links []condition
	apart := func(a, b *scalar.Column) bool {
		return holdsColumn(j.left, a) && holdsColumn(j.right, b) || holdsColumn(j.left, b) && holdsColumn(j.right, a)
	}
	for _, c := range conds {
		for _, x := range scalar.Conjuncts(c.x) {
			a, b, ok := scalar.Equality(x)
			ok = ok && apart(a, b)
			for _, l := range computedLinks(r, x) {
				ok = ok || apart(l.Column, l.By.Columns()[0])
			}
			if ok {
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

// presence writes a column of a protected relation that has a row in every row of the item. It is
// NULL only where there is no such row: the unit, or, where all these relations follow others, a
// column by which one does: it is equal to one of a key in every row that counts. It is empty if
// there is no such relation.
func (p *sourceWriter) presence(n node) (column string) {
	for _, r := range region(n) {
		switch {
		case !r.protected():
		case !p.followed(r):
			return p.writtenUnit(r).Read()
		case column != "":
		case ofReference(r):
			column = keyOf(r)
		default:
			column = r.sql(r.table.Unit.Steps[0].From[0])
		}
	}
	return column
}

// computedEnd tells of the expression in such a link. A row on which it is NULL joins nothing.
func (p *sourceWriter) computedEnd(l computedLink) sqltext.End {
	e := sqltext.End{Of: l.of.alias, Null: true}
	if l.present != nil {
		e.Present = l.present.Presence()
	} else {
		e.Present = p.unitWithin(l.of)
	}
	return e
}

// unitWithin writes a column of a relation that has a unit in every row: the unit, or the beginning of the path to it.
func (p *sourceWriter) unitWithin(r *relation) string {
	if r.rows == nil && len(r.hops) > 0 && p.rowsPerUnit(r) == 0 {
		return r.sql(r.table.Unit.Steps[0].From[0])
	}
	return p.writtenUnit(r).Read()
}
