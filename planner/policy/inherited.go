package policy

import (
	"slices"

	"dpproxy/catalog"
)

// A column of a foreign key has values of the column that it refers to. So it has the bounds of that column where the policy says nothing
// of its own: of a line of an order, the day is that of the order. Like a default for dates they are bounds to which values are clamped,
// and nothing is proved by the foreign key.

// inherit gives such columns their bounds. A column can refer to one that has its bounds so itself.
func inherit(c *checker) {
	for range c.policy.Tables {
		found := false
		for i := range c.policy.Tables {
			if t := c.model.tables[c.policy.Tables[i].Name]; t != nil && !t.Public && inheritOf(c, t, &c.policy.Tables[i]) {
				found = true
			}
		}
		if !found {
			return
		}
	}
}

// inheritOf reports whether columns of a table have got bounds.
func inheritOf(c *checker, t *Table, p *TablePolicy) (found bool) {
	for i := range t.Columns {
		col, said := &t.Columns[i], p.Says(t.Columns[i].Name)
		stated := said.Hidden || said.Unbounded || said.Bounds != nil || col.Values != nil
		if stated || col.Bounds != nil && !col.ByDefault {
			continue
		}
		if of, column := referredTo(c.model, t.Source, col.Name); column != nil && column.Bounds != nil && !column.ByDefault {
			col.Bounds, col.ByDefault, col.Follows = column.Bounds, false, of.String()+"."+column.Name
			prove(t.Source, col)
			found = true
		}
	}
	return found
}

// referredTo returns the column to which a foreign key refers from another one: of a table with rows that are not public, if it is shown.
func referredTo(m *Model, src *catalog.Table, name string) (table catalog.Name, column *Column) {
	for _, fk := range src.Foreign {
		i := slices.Index(fk.Columns, name)
		to := m.tables[fk.References]
		if i < 0 || to == nil || to.Public {
			continue
		}
		if j := slices.IndexFunc(to.Columns, func(c Column) bool { return c.Name == fk.Target[i] && !c.Hidden }); j >= 0 {
			own, _ := src.Column(name)
			if baseOID(own.Type) == baseOID(to.Columns[j].Type) {
				return to.Name, &to.Columns[j]
			}
		}
	}
	return catalog.Name{}, nil
}
