package source

import (
	"slices"

	"dpproxy/planner/scalar"
)

// A pair is two columns that are equal by their types' own equality.
type pair struct{ a, b *scalar.Column }

// classes are the columns that are equal on every row: a forest whose roots stand for
// their trees. A column of a derived table that stands for a plain one below is that one.
type classes struct {
	parent map[*scalar.Column]*scalar.Column
}

func (c *classes) find(x *scalar.Column) *scalar.Column {
	x = x.Base()
	for {
		up, ok := c.parent[x]
		if !ok {
			return x
		}
		x = up
	}
}

func (c *classes) same(a, b *scalar.Column) bool { return c.find(a) == c.find(b) }

// merge reports whether it made a difference.
func (c *classes) merge(a, b *scalar.Column) bool {
	a, b = c.find(a), c.find(b)
	if a == b {
		return false
	}
	c.parent[a] = b
	return true
}

// newClasses closes equalities over the relations, none of which may be nullable: two
// scans of a table that agree in a key are at the same row, and agree in all columns.
func newClasses(equal []pair, rs []*relation, f paths) *classes {
	c := &classes{map[*scalar.Column]*scalar.Column{}}
	var scans []*relation
	for _, r := range rs {
		if f[r] != nil {
			equal = append(slices.Clip(equal), pair{r.unit, f.unit(r)})
		}
		found, below := f.witnesses(r)
		scans, equal = append(scans, found...), slices.Concat(equal, below)
	}
	for _, p := range slices.Concat(equal, identified(equal)) {
		c.merge(p.a, p.b)
	}
	for again := true; again; {
		again = false
		for i, l := range scans {
			for _, r := range scans[:i] {
				again = c.sameRow(l, r) && c.mergeRows(l, r) || again
			}
		}
	}
	return c
}

// witnesses returns scans that have a row for each row of the relation, and the equalities of these: those of a derived table are below
// it, where each of its rows comes from at least one that has the values of its plain columns, and the unit. Of a UNION ALL there are none.
func (f paths) witnesses(r *relation) (scans []*relation, equal []pair) {
	if r.rows == nil {
		return append([]*relation{r}, f.hops(r)...), nil
	}
	if len(r.rows.branches) != 1 || !r.protected() {
		return nil, nil
	}
	below := r.rows.branches[0].source
	equal = below.equal
	for _, in := range region(below.root) {
		more, also := below.follows.witnesses(in)
		scans, equal = append(scans, more...), slices.Concat(equal, also)
	}
	return slices.DeleteFunc(scans, (*relation).longKey), equal
}

func (c *classes) sameRow(l, r *relation) bool {
	return l.table == r.table && slices.ContainsFunc(l.keys(), func(key []int) bool {
		return !slices.ContainsFunc(key, func(i int) bool { return !c.same(l.columns[i], r.columns[i]) })
	})
}

func (c *classes) mergeRows(l, r *relation) bool {
	merged := false
	for i := range l.columns {
		merged = c.merge(l.columns[i], r.columns[i]) || merged
	}
	if l.tagged && len(l.hops) == 0 && r.tagged && len(r.hops) == 0 {
		merged = c.merge(l.unit, r.unit) || merged
	}
	return merged
}

// equalities returns the pairs of plain columns that the conditions make equal.
func equalities(conds []condition) []pair {
	var all []pair
	for _, c := range conds {
		for _, x := range scalar.Conjuncts(c.x) {
			if a, b, ok := scalar.Equality(x); ok {
				all = append(all, pair{a, b})
			}
		}
	}
	return all
}

// holds returns the equalities of every row of a node.
func (f paths) holds(n node) []pair {
	switch n := n.(type) {
	case *relation:
		return slices.Concat(f.links(n), unitColumns(n))
	case *joined:
		if n.outer {
			return f.holds(n.left)
		}
		return slices.Concat(f.holds(n.left), f.holds(n.right), equalities(n.on))
	}
	return nil
}

// withMatches adds the equalities of the outer joins below the nodes that have a match on every
// row: one that is equal to something is not NULL.
func (p *proof) withMatches(equal []pair, nodes ...node) []pair {
	var open []*joined
	for _, n := range nodes {
		open = append(open, outerJoins(n)...)
	}
	for again := true; again; {
		again = false
		for i, j := range open {
			if j != nil && p.touches(equal, j.right) {
				equal = slices.Concat(equal, p.follows.holds(j.right), equalities(j.on))
				open[i], again = nil, true
			}
		}
	}
	return equal
}

// touches reports whether an equality is of a column of the node.
func (p *proof) touches(equal []pair, n node) bool {
	return slices.ContainsFunc(relationsOf(n), func(r *relation) bool {
		return slices.ContainsFunc(equal, func(e pair) bool { return p.home[e.a] == r || p.home[e.b] == r })
	})
}

// links returns the equalities along the path to the unit.
func (f paths) links(r *relation) []pair {
	var all []pair
	from := r
	for i, h := range f.hops(r) {
		st := r.table.Unit.Steps[i]
		for n := range st.From {
			all = append(all, pair{from.column(st.From[n]), h.column(st.Key[n])})
		}
		from = h
	}
	return all
}

// unitColumns returns the columns of a derived table that are its unit.
func unitColumns(r *relation) []pair {
	if r.rows == nil || r.unit == nil {
		return nil
	}
	var all []pair
	for i, c := range r.columns {
		if !slices.ContainsFunc(r.rows.branches, func(b *branch) bool { return !b.source.IsUnit(b.targets[i]) }) {
			all = append(all, pair{c, r.unit})
		}
	}
	return all
}

// IsUnit reports whether the expression is a column that identifies the unit.
func (p *proof) IsUnit(x scalar.Expr) bool {
	c, ok := scalar.PlainColumn(x)
	return ok && p.Protected() && p.classes.same(c, p.unit())
}
