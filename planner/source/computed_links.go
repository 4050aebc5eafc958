package source

import (
	"slices"

	"dpproxy/planner/scalar"
)

// A column of a public relation that is equal to an expression over one other relation links the two as it would if the expression were a
// column: JOIN calendar c ON c.day = o.ordered_at::date. So an equality on the whole key of a public relation finds one row at most,
// whatever stands on its other side.

// A computedLink is such an equality.
type computedLink struct {
	scalar.Determined
	of *relation
	// present is a column that is NULL only if the equality is not true; nil if the relation has a unit in every row.
	present *scalar.Column
}

// computedLinks returns the links that an equality is, one for each side that is a column of a public relation.
func computedLinks(r *resolved, x scalar.Expr) (list []computedLink) {
	if _, _, plain := scalar.Equality(x); plain {
		return nil
	}
	for _, d := range scalar.Determines(x) {
		l := computedLink{Determined: d, of: homeOf(r, d.By)}
		if home := r.home[d.Column]; l.of == nil || home == nil || home == l.of || home.protected() || !home.finds(x, d.Column) {
			continue
		}
		i := slices.IndexFunc(d.By.Columns(), func(c *scalar.Column) bool {
			return scalar.NeverNull([]scalar.Expr{x}, &scalar.Ref{Column: c})
		})
		switch {
		case i >= 0:
			l.present = d.By.Columns()[i]
		case !slices.Contains(region(r.root), l.of) || !l.of.protected() || ofReference(l.of) || l.of.tagged:
			continue
		}
		list = append(list, l)
	}
	return list
}

// finds reports whether Postgres finds the rows of a relation by an equality of a column, with a hash table or an index.
func (r *relation) finds(x scalar.Expr, c *scalar.Column) bool {
	return scalar.Hashes(x) || r.rows == nil && !r.listed && r.table.Begins(c.Name)
}

// linked returns the columns of a relation that equalities tie to other relations.
func linked(r *resolved, of *relation) (columns []*scalar.Column) {
	for _, c := range slices.Concat(r.where, joinConditions(r.root)) {
		for _, x := range scalar.Conjuncts(c.x) {
			columns = append(columns, linkedBy(r, x)...)
		}
	}
	return slices.DeleteFunc(columns, func(c *scalar.Column) bool { return r.home[c] != of })
}

// linkedBy returns the columns that an equality ties to other relations.
func linkedBy(r *resolved, x scalar.Expr) (columns []*scalar.Column) {
	if a, b, ok := scalar.Equality(x); ok && r.home[a] != r.home[b] {
		columns = append(columns, a, b)
	}
	for _, l := range computedLinks(r, x) {
		columns = append(columns, l.Column)
	}
	return columns
}

// homeOf returns the relation of this level that all columns of an expression belong to; nil if there is none.
func homeOf(r *resolved, e scalar.Expr) *relation {
	columns := e.Columns()
	home := r.home[columns[0]]
	if slices.ContainsFunc(columns, func(c *scalar.Column) bool { return r.home[c] != home }) {
		return nil
	}
	return home
}
