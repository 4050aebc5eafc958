package source

import (
	"slices"

	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// funcDeps are the functional dependencies of the rows of a level. NULL counts as a value here:
// a row that an outer join has filled with NULL determines that it is one.
type funcDeps struct {
	relations  []*relation
	equal      []pair           // both ways
	fixed      []*scalar.Column // one value
	outerJoins []*outerJoinDeps
}

// outerJoinDeps are the dependencies of the nullable side of an outer join. Which rows match
// depends on the columns of the other side in its condition, so that nothing follows before
// these are determined.
type outerJoinDeps struct {
	needs []*scalar.Column
	equal []pair
	fixed []*scalar.Column
}

// matched are the dependencies of the rows that have a match in every outer join.
func (f *funcDeps) matched() *funcDeps {
	m := &funcDeps{relations: f.relations, equal: slices.Clone(f.equal), fixed: slices.Clone(f.fixed)}
	for _, g := range f.outerJoins {
		m.equal, m.fixed = append(m.equal, g.equal...), append(m.fixed, g.fixed...)
	}
	return m
}

// keys returns the candidate keys of a table, as indices of its columns: of unique
// indexes whose columns are all NOT NULL. An index of a partitioned table or of one with
// inheritance children is not taken as a proof.
func (r *relation) keys() [][]int {
	src := r.table.Source
	if src.Kind != 'r' || len(src.Children) > 0 {
		return nil
	}
	var keys [][]int
	for _, k := range src.Keys {
		var key []int
		for _, name := range k.Columns {
			i := slices.IndexFunc(r.table.Columns, func(c policy.Column) bool { return c.Name == name && c.NotNull })
			if i < 0 {
				key = nil
				break
			}
			key = append(key, i)
		}
		if key != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// dependencies collects those of the level, from its final tree.
func (s *Source) dependencies() *funcDeps {
	f := &funcDeps{equal: identical(equalities(s.where)), fixed: fixed(s.where)}
	f.gather(s.root, nil)
	return f
}

// gather collects the dependencies of a node; g is set on the nullable side of an outer join.
func (f *funcDeps) gather(n node, g *outerJoinDeps) {
	switch n := n.(type) {
	case *relation:
		f.relations = append(append(f.relations, n), n.joins()...)
		f.equal = append(f.equal, identical(slices.Concat(n.links(), n.rows.equal(n)))...)
	case *joined:
		f.gather(n.left, g)
		if !n.outer {
			f.gather(n.right, g)
			f.add(n.on, g)
			return
		}
		inner := &outerJoinDeps{}
		if g != nil {
			inner.needs = slices.Clone(g.needs)
		}
		kept := relationsOf(n.left)
		for _, c := range n.on {
			for _, col := range c.x.Columns() {
				if slices.ContainsFunc(kept, func(r *relation) bool { return slices.Contains(r.columns, col) }) {
					inner.needs = append(inner.needs, col)
				}
			}
		}
		inner.equal, inner.fixed = identical(equalities(n.on)), fixed(n.on)
		f.outerJoins = append(f.outerJoins, inner)
		f.gather(n.right, inner)
	}
}

// add takes what conditions of an inner join say. A constant is one only where there are
// no rows without a match.
func (f *funcDeps) add(on []condition, g *outerJoinDeps) {
	f.equal = append(f.equal, identical(equalities(on))...)
	if g != nil {
		g.fixed = append(g.fixed, fixed(on)...)
		return
	}
	f.fixed = append(f.fixed, fixed(on)...)
}

// fixed returns the columns that conditions make identical to a constant.
func fixed(conds []condition) []*scalar.Column {
	var all []*scalar.Column
	for _, c := range conds {
		for _, x := range scalar.Conjuncts(c.x) {
			if col, ok := scalar.Fixed(x); ok {
				all = append(all, col)
			}
		}
	}
	return all
}

// identical keeps the pairs of columns that are identical where they are equal.
func identical(pairs []pair) []pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return !scalar.Identical(p.a, p.b) })
}

// A closure is all that a set of columns determines: columns, by what they stand for, and rows.
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
		if r.rows != nil && r.unit != nil {
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

// closureOf returns the closure of columns and rows.
func (f *funcDeps) closureOf(cols []*scalar.Column, rows ...*relation) *closure {
	k := newClosure(f)
	k.add(cols...)
	for _, r := range rows {
		k.addRow(r)
	}
	f.extend(k)
	return k
}

// extend adds what follows.
func (f *funcDeps) extend(k *closure) {
	for k.grown {
		k.grown = false
		k.equate(f.equal)
		for _, g := range f.outerJoins {
			if k.hasAll(g.needs) {
				k.equate(g.equal)
				k.add(g.fixed...)
			}
		}
		for _, r := range f.relations {
			if !k.rows[r] {
				r.determine(k)
			}
		}
	}
}

// determine adds the row of the relation if the closure has a key of it, and what
// follows from its columns otherwise.
func (r *relation) determine(k *closure) {
	if r.rows != nil {
		r.rows.determine(r, k)
		return
	}
	for _, key := range r.keys() {
		if !slices.ContainsFunc(key, func(i int) bool { return !k.has(r.columns[i]) }) {
			k.addRow(r)
			return
		}
	}
}

// perUnitClosure is of all that is identical in the rows of a unit that agree in the columns and
// rows given.
func (s *Source) perUnitClosure(cols []*scalar.Column, rows ...*relation) *closure {
	return s.deps.closureOf(append(s.identity(), cols...), rows...)
}

// identity returns the column of the unit, unless a unit can be spelled in several ways.
func (s *Source) identity() []*scalar.Column {
	if s.Protected() && scalar.OneSpelling(&scalar.Ref{Column: s.Unit()}) {
		return []*scalar.Column{s.Unit()}
	}
	return nil
}

// Unique reports whether a unit has at most one row.
func (s *Source) Unique() bool { return s.Protected() && s.leavesOneRow(s.perUnitClosure(nil)) }

// leavesOneRow reports whether rows that agree in the closure are one.
func (s *Source) leavesOneRow(k *closure) bool {
	return !slices.ContainsFunc(s.relations, func(r *relation) bool { return !k.rows[r] })
}

// Fixes reports whether a unit has at most one row with the same values of the keys.
func (s *Source) Fixes(keys []scalar.Expr) bool {
	if !s.Protected() {
		return false
	}
	var cols []*scalar.Column
	for _, e := range keys {
		if c, ok := scalar.PlainColumn(e); ok && scalar.OneSpelling(e) {
			cols = append(cols, c)
		}
	}
	return s.leavesOneRow(s.perUnitClosure(cols))
}

// PerUnit reports whether the expression has one value in all rows of a unit.
func (s *Source) PerUnit(e scalar.Expr) bool {
	return s.Protected() && s.perUnitClosure(nil).hasAll(e.Columns())
}
