package planner

import (
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/parser/ast"
)

// This file holds what a column is that the policy hides: one that does not exist for a
// statement, and that proofs and SQL of our own use all the same.

// ellipsis stands where people would read the name of a hidden column.
const ellipsis = "…"

// unshown ends names of our own that are others since a hidden column is called so.
const unshown = "$dp"

func (t *table) hides(name string) bool {
	return slices.ContainsFunc(t.columns, func(c column) bool { return c.Name == name && c.hidden })
}

// shown writes the name of a column for people.
func (t *table) shown(name string) string {
	if t.hides(name) {
		return ellipsis
	}
	return name
}

// veil replaces the hidden columns in SQL that is shown to an analyst.
func (s *source) veil() *strings.Replacer {
	pairs := []string{unshown, ""}
	s.eachRelation(func(r *relation) {
		for i := range r.table.columns {
			if c := &r.table.columns[i]; c.hidden {
				quoted := ast.QuoteIdent(c.Name)
				pairs = append(pairs, r.alias+"."+quoted, r.alias+"."+ellipsis)
				if r.cut > 0 && r.columns[i] == r.unit { // the rows are ordered by it as well
					pairs = append(pairs, quoted, ellipsis)
				}
			}
		}
	})
	return strings.NewReplacer(pairs...)
}

// conceals reports whether no analyst may see the query of a view: the policy does not show
// it, or what is shown of the view lacks columns.
func (c *Catalog) conceals(view catalog.Name) bool {
	v := c.views[view]
	return v != nil && (!v.ViewShown || len(c.withheld[view]) > 0)
}

// Withheld returns the columns of a view of the policy that its analysts do not see, since
// they show hidden columns, in the order of the view.
func (c *Catalog) Withheld(view catalog.Name) []string { return c.withheld[view] }

// views takes the views of the policy, those first that others are made of.
func (c *checker) views() {
	var take func(n catalog.Name)
	take = func(n catalog.Name) {
		v := c.schema.Tables[n]
		if v == nil || v.View == "" || c.cat.views[n] != nil {
			return
		}
		c.cat.views[n] = v // of itself no view is made
		for _, read := range v.Reads {
			take(read)
		}
		c.cat.views[n] = c.view(v)
	}
	for n := range c.schema.Tables {
		take(n)
	}
}

// view returns a view without the columns that show what is hidden.
func (c *checker) view(v *catalog.Table) *catalog.Table {
	if !slices.ContainsFunc(v.Reads, func(n catalog.Name) bool { return len(c.hiddenOf(n.Schema, n.Name)) > 0 }) {
		return v
	}
	query, withheld, err := parser.Withhold(v.View, c.hiddenOf)
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
			c.cat.withheld[v.Name] = append(c.cat.withheld[v.Name], col.Name)
		} else {
			rest.Columns = append(rest.Columns, col)
		}
	}
	return &rest
}

// hiddenOf returns the columns of a relation that do not exist for analysts.
func (c *checker) hiddenOf(schema, name string) []string {
	n := catalog.Name{Schema: schema, Name: name}
	t := c.cat.tables[n]
	if t == nil {
		return c.cat.withheld[n]
	}
	var names []string
	for i := range t.columns {
		if t.columns[i].hidden {
			names = append(names, t.columns[i].Name)
		}
	}
	return names
}
