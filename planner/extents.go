package planner

import "dpproxy/planner/scalar"

// Columns of public tables may stand where an operator or an aggregate needs bounds. Where the policy declares none, the least
// and the greatest public value are bounds as good as declared ones: the mirror tells them with the constants, and they are
// part of the question, as the lists of public groups are. Only a statement that has no plan without them uses them.

// tellExtents has the mirror tell the bounds of the columns of public tables that expressions over the rows may need bounds of.
// It reports whether there are such.
func tellExtents(b *block) bool {
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
