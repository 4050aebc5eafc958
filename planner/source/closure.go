package source

import (
	"slices"

	"dpproxy/planner/scalar"
)

// A closure is all that a set of columns determines: columns, by those they stand for, and rows.
type closure struct {
	columns map[*scalar.Column]bool
	rows    map[*relation]bool
	grown   bool
	// below are the closures inside derived tables. They only grow, so that nested ones
	// cost no more than their columns.
	below map[*relation]*closure
}

func newClosure(f *funcDeps) *closure {
	k := &closure{columns: map[*scalar.Column]bool{}, rows: map[*relation]bool{}, below: map[*relation]*closure{}, grown: true}
	k.add(f.fixed...)
	return k
}

// inside returns the closure inside a derived table.
func (k *closure) inside(r *relation, f *funcDeps) *closure {
	if k.below[r] == nil {
		k.below[r] = newClosure(f)
	}
	return k.below[r]
}

func (k *closure) has(c *scalar.Column) bool { return k.columns[c.Base()] }

func (k *closure) hasAll(cols []*scalar.Column) bool {
	return !slices.ContainsFunc(cols, func(c *scalar.Column) bool { return !k.has(c) })
}

func (k *closure) add(cols ...*scalar.Column) {
	for _, c := range cols {
		if !k.has(c) {
			k.columns[c.Base()], k.grown = true, true
		}
	}
}

func (k *closure) addRow(r *relation) {
	if !k.rows[r] {
		k.rows[r], k.grown = true, true
		k.add(r.columns...)
		if r.unit != nil && (r.rows != nil || r.tagged) {
			k.add(r.unit)
		}
	}
}

func (k *closure) equate(pairs []pair) {
	for _, p := range pairs {
		if k.has(p.a) {
			k.add(p.b)
		}
		if k.has(p.b) {
			k.add(p.a)
		}
	}
}
