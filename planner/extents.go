package planner

import "dpproxy/planner/scalar"

// An operator or an aggregate may need bounds of a column of a public table for which the policy declares none. The smallest and the
// largest public value are such bounds. The mirror evaluates them with the constants, and they are part of the question, as the lists of
// public groups are. Only a statement that has no plan without them uses them.

// addExtents adds the bounds of columns of public tables that expressions over the rows may need to the constants of the mirror. It
// reports whether there are any.
func addExtents(b *block) bool {
	if b.source.Concealing() {
		return false
	}
	told := false
	search := scalar.NewBoundsSearch(func(c *scalar.Column, at int) { told = b.source.TellExtent(c, at) || told })
	for _, k := range b.keys {
		search.Of(k.expr, false)
	}
	for _, a := range b.aggregates {
		_, counts := a.form.(countOf)
		for _, e := range a.form.overRows() {
			search.Of(e, !counts)
		}
	}
	b.source.Computed(func(list ...scalar.Expr) {
		for _, e := range list {
			search.Of(e, false)
		}
	}, func(c *scalar.Column) { search.Of(&scalar.Ref{Column: c}, false) })
	return told
}
