package source

import (
	"slices"

	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// funcDeps are the functional dependencies of the rows of a level. NULL counts as a value here:
// a row that an outer join has filled with NULL determines that it is one.
type funcDeps struct {
	relations []*relation
	// nullable are those that an outer join can fill with NULL.
	nullable   map[*relation]bool
	equal      []pair           // both ways
	fixed      []*scalar.Column // one value
	implied    []pair           // the second column determines the first, also where that is NULL
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
	m := &funcDeps{
		relations: f.relations, nullable: f.nullable, equal: slices.Clone(f.equal), fixed: slices.Clone(f.fixed), implied: f.implied,
	}
	for _, g := range f.outerJoins {
		m.equal, m.fixed = append(m.equal, g.equal...), append(m.fixed, g.fixed...)
	}
	return m
}

// keys returns the candidate keys of a table, as indices of its columns: of unique
// indexes whose columns are all NOT NULL.
func (r *relation) keys() [][]int {
	src := r.table.Source
	if !src.KeysHold() {
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

// longKey reports whether a text of any length is in a key of the table: a derived table has its beginning, which others can share.
func (r *relation) longKey() bool {
	return slices.ContainsFunc(r.keys(), func(key []int) bool {
		return slices.ContainsFunc(key, func(i int) bool { return scalar.Long(r.columns[i].Type) })
	})
}

// dependencies collects those of the level, from its final tree.
func (p *proof) dependencies() *funcDeps {
	f := &funcDeps{nullable: map[*relation]bool{}, equal: identical(equalities(p.where)), fixed: fixed(p.where)}
	f.gather(p.root, p.follows, nil)
	for _, q := range identified(p.equal) { // a text tells what it is the text of
		if scalar.OneSpelling(&scalar.Ref{Column: q.a}) {
			f.equal = append(f.equal, q)
		}
	}
	return f
}

// gather collects the dependencies of a node; g is set on the nullable side of an outer join.
func (f *funcDeps) gather(n node, follows paths, g *outerJoinDeps) {
	switch n := n.(type) {
	case *relation:
		f.relations = append(append(f.relations, n), follows.hops(n)...)
		f.nullable[n] = g != nil
		f.equal = append(f.equal, identical(follows.holds(n))...)
		if follows[n] != nil {
			own := &f.equal
			if g != nil { // a row without a match has NULL
				own = &g.equal
			}
			*own = append(*own, identical([]pair{{n.unit, follows.unit(n)}})...)
		}
		for _, of := range append([]*relation{n}, follows.hops(n)...) {
			f.implied = append(f.implied, identifiers(of)...)
		}
	case *joined:
		f.gather(n.left, follows, g)
		if !n.outer {
			f.gather(n.right, follows, g)
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
				if slices.ContainsFunc(kept, func(r *relation) bool { return r.unit == col || slices.Contains(r.columns, col) }) {
					inner.needs = append(inner.needs, col)
				}
			}
		}
		inner.equal, inner.fixed = identical(equalities(n.on)), fixed(n.on)
		f.outerJoins = append(f.outerJoins, inner)
		f.gather(n.right, follows, inner)
	}
}

// add takes the facts of conditions of an inner join. A constant is one only where there are
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

// extend adds all that follows.
func (f *funcDeps) extend(k *closure) {
	for k.grown {
		k.grown = false
		k.equate(f.equal)
		for _, p := range f.implied {
			if k.has(p.b) {
				k.add(p.a)
			}
		}
		for _, g := range f.outerJoins {
			if k.hasAll(g.needs) {
				k.equate(g.equal)
				k.add(g.fixed...)
			}
		}
		for _, r := range f.relations {
			if !k.rows[r] {
				f.determine(r, k)
			}
		}
	}
}

// determine adds the row of the relation if the closure has a key of it, and of a derived table
// at least the columns that follow.
func (f *funcDeps) determine(r *relation, k *closure) {
	if r.rows != nil {
		f.determineDerived(r, k)
		return
	}
	for _, key := range r.keys() {
		if !slices.ContainsFunc(key, func(i int) bool { return !k.has(r.columns[i]) }) {
			k.addRow(r)
			return
		}
	}
}

// determineDerived adds the columns of a derived table that follow, by the dependencies below, from
// those of the closure. Rows of a UNION ALL follow from nothing; those that an outer join fills
// with NULL are told apart from others by the unit, or by a column that is never NULL there.
func (f *funcDeps) determineDerived(r *relation, k *closure) {
	if len(r.rows.branches) != 1 {
		return
	}
	b := r.rows.branches[0]
	if f.nullable[r] && (r.unit == nil || !k.has(r.unit)) && !b.tellsFilled(r, k) {
		return
	}
	below := k.inside(r, b.source.deps)
	var cols []*scalar.Column
	if r.unit != nil && k.has(r.unit) {
		cols = append(cols, b.source.unit())
	}
	for i, c := range r.columns {
		if plain, ok := scalar.PlainColumn(b.targets[i]); ok && k.has(c) {
			cols = append(cols, plain)
		}
	}
	below.add(cols...)
	grown := below.grown
	b.source.deps.extend(below)
	if b.leavesOneRow(below) || b.numbers(r, k, below) {
		k.addRow(r)
		return
	}
	if !grown {
		return
	}
	for i, c := range r.columns {
		if plain, ok := scalar.PlainColumn(b.targets[i]); ok && below.has(plain) {
			k.add(c)
		}
	}
}

// tellsFilled reports whether a column in the closure has a value in every row of the branch.
func (b *branch) tellsFilled(r *relation, k *closure) bool {
	for i, c := range r.columns {
		plain, ok := scalar.PlainColumn(b.targets[i])
		if ok && k.has(c) && b.source.hasValue(plain) {
			return true
		}
	}
	return false
}

// hasValue reports whether a column is not NULL on any row of the level: an equality that holds on each has it.
func (p *proof) hasValue(c *scalar.Column) bool {
	return slices.ContainsFunc(p.equal, func(e pair) bool { return e.a == c || e.b == c }) ||
		slices.ContainsFunc(region(p.root), func(r *relation) bool {
			return r.rows == nil && c.NotNull && slices.Contains(r.columns, c)
		})
}

// numbers reports whether the closure has the number of a row in its partition, by row_number.
func (b *branch) numbers(r *relation, k, below *closure) bool {
	for i, c := range r.columns {
		if partition, ok := scalar.Numbered(b.targets[i]); ok && k.has(c) && below.determines(partition) && below.has(b.source.unit()) {
			return true
		}
	}
	return false
}

// determines reports whether expressions over a row have one value in the rows of the closure.
func (k *closure) determines(list []scalar.Expr) bool {
	return !slices.ContainsFunc(list, func(x scalar.Expr) bool { return scalar.Windowed(x) || !k.hasAll(x.Columns()) })
}

// leavesOneRow reports whether rows of the branch that agree in the closure are one.
func (b *branch) leavesOneRow(k *closure) bool {
	if b.elements != nil { // several can be alike
		return false
	}
	if b.source.leavesOneRow(k) {
		return true
	}
	if b.united != nil && !k.has(b.source.unit()) {
		return false
	}
	return b.grouped && k.determines(b.keys) || b.distinct && !b.grouped && k.determines(b.targets) ||
		len(b.first) > 0 && k.determines(b.first)
}

// perUnitClosure is of all that is identical in the rows of a unit that agree in the columns and
// rows given.
func (p *proof) perUnitClosure(cols []*scalar.Column, rows ...*relation) *closure {
	return p.deps.closureOf(append(p.identity(), cols...), rows...)
}

// identity returns the column of the unit, unless a unit can be spelled in several ways.
func (p *proof) identity() []*scalar.Column {
	if p.Protected() && scalar.OneSpelling(&scalar.Ref{Column: p.unit()}) {
		return []*scalar.Column{p.unit()}
	}
	return nil
}

// Unique reports whether a unit has at most one row, and is a person.
func (p *proof) Unique() bool {
	return p.Protected() && !p.Tagged() && p.leavesOneRow(p.perUnitClosure(nil))
}

// leavesOneRow reports whether rows that agree in the closure are one. Rows that are looked up follow.
func (p *proof) leavesOneRow(k *closure) bool {
	return !slices.ContainsFunc(p.relations, func(r *relation) bool { return !ofReference(r) && !k.rows[r] })
}

// Fixes reports whether a unit has at most one row with the same values of the keys.
func (p *proof) Fixes(keys []scalar.Expr) bool {
	if !p.Protected() {
		return false
	}
	return p.leavesOneRow(p.perUnitClosure(identifiable(keys)))
}

// identifiable returns the columns among expressions whose equal values are identical.
func identifiable(keys []scalar.Expr) []*scalar.Column {
	var cols []*scalar.Column
	for _, e := range keys {
		if c, ok := scalar.PlainColumn(e); ok && scalar.OneSpelling(e) {
			cols = append(cols, c)
		}
	}
	return cols
}

// OneUnit reports whether rows with the same values of the keys are of one unit, and that because of the keys.
func (p *proof) OneUnit(keys []scalar.Expr) bool {
	return p.Protected() && p.deps.closureOf(identifiable(keys)).has(p.unit()) && !p.deps.closureOf(nil).has(p.unit())
}

// PerUnit reports whether the expression has one value in all rows of a unit.
func (p *proof) PerUnit(e scalar.Expr) bool {
	return p.Protected() && p.perUnitClosure(nil).hasAll(e.Columns())
}
