package policy

import (
	"maps"
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner/scalar"
)

// A column that the policy hides does not exist for a statement. Proofs and SQL of our own use it
// all the same.

// Ellipsis stands where people would read the name of a hidden column.
const Ellipsis = scalar.Ellipsis

// Says is the policy of a column: that of its name or, without one, that of all columns that the table does not list.
func (p *TablePolicy) Says(column string) ColumnPolicy {
	if said, listed := p.Columns[column]; listed {
		return said
	}
	return ColumnPolicy{Hidden: p.HidesUnlisted}
}

// Hidden returns the columns that the policy of a table names as hidden, sorted.
func (p *TablePolicy) Hidden() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Columns)) {
		if p.Columns[name].Hidden {
			names = append(names, name)
		}
	}
	return names
}

// Unlisted returns the columns of a table that its policy does not list, and does not hide either, in the order of the table.
func Unlisted(p *TablePolicy, m *Model) (names []string) {
	for _, c := range m.tables[p.Name].Columns {
		if _, listed := p.Columns[c.Name]; !listed && !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// Hides reports whether the policy hides the column of that name.
func (t *Table) Hides(name string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == name && c.Hidden })
}

// Shown writes the name of a column for people.
func (t *Table) Shown(name string) string {
	if t.Hides(name) {
		return Ellipsis
	}
	return name
}

// ShownList writes the names of columns for people, several in parentheses.
func (t *Table) ShownList(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = t.Shown(name)
	}
	return columnList(shown)
}

// Conceals reports whether no analyst may see the query of a view: the policy does not show
// it, or the view as it is shown lacks columns.
func (m *Model) Conceals(view catalog.Name) bool {
	v := m.views[view]
	return v != nil && (!v.ViewShown || len(m.withheld[view]) > 0)
}

// Withheld returns the columns of a view of the policy that its analysts do not see, since
// they show hidden columns, in the order of the view.
func (m *Model) Withheld(view catalog.Name) []string { return m.withheld[view] }

// views takes the views of the policy, each behind the views that it reads.
func (c *checker) views() {
	var take func(n catalog.Name)
	take = func(n catalog.Name) {
		v := c.schema.Tables[n]
		if v == nil || v.View == "" || c.model.views[n] != nil {
			return
		}
		c.model.views[n] = v // of itself no view is made
		for _, read := range v.Reads {
			take(read)
		}
		c.model.views[n] = c.view(v)
	}
	for n := range c.schema.Tables {
		take(n)
	}
}

// view returns a view without the columns that show a hidden one.
func (c *checker) view(v *catalog.Table) *catalog.Table {
	if !slices.ContainsFunc(v.Reads, func(n catalog.Name) bool { return len(c.hiddenOf(n.Schema, n.Name)) > 0 }) {
		return v
	}
	query, withheld, err := parser.DropHidden(v.View, c.hiddenOf)
	switch {
	case err != nil:
		c.problem(v.Name, "view", "%s", err)
		return v
	case len(withheld) == 0:
		return v
	case withheld[len(withheld)-1] >= len(v.Columns):
		c.problem(v.Name, "view", "the query of the view has more than its %d columns", len(v.Columns))
		return v
	}
	rest := *v
	rest.View, rest.Columns = query, nil
	for i, col := range v.Columns {
		if slices.Contains(withheld, i) {
			c.model.withheld[v.Name] = append(c.model.withheld[v.Name], col.Name)
		} else {
			rest.Columns = append(rest.Columns, col)
		}
	}
	return &rest
}

// hiddenOf returns the columns of a relation that do not exist for analysts.
func (c *checker) hiddenOf(schema, name string) []string {
	n := catalog.Name{Schema: schema, Name: name}
	t := c.model.tables[n]
	if t == nil {
		return c.model.withheld[n]
	}
	var names []string
	for i := range t.Columns {
		if t.Columns[i].Hidden {
			names = append(names, t.Columns[i].Name)
		}
	}
	return names
}
