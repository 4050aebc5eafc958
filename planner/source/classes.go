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
func newClasses(equal []pair, rs []*relation) *classes {
	c := &classes{map[*scalar.Column]*scalar.Column{}}
	for _, p := range equal {
		c.merge(p.a, p.b)
	}
	var scans []*relation
	for _, r := range rs {
		if r.rows == nil {
			scans = append(append(scans, r), r.joins()...)
		}
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
func holds(n node) []pair {
	switch n := n.(type) {
	case *relation:
		return slices.Concat(n.links(), n.rows.equal(n))
	case *joined:
		if n.outer {
			return holds(n.left)
		}
		return slices.Concat(holds(n.left), holds(n.right), equalities(n.on))
	}
	return nil
}

// withMatches adds the equalities of the outer joins below the nodes that have a match on every
// row: one that is equal to something is not NULL.
func (s *Source) withMatches(equal []pair, nodes ...node) []pair {
	var open []*joined
	for _, n := range nodes {
		open = append(open, outerJoins(n)...)
	}
	for again := true; again; {
		again = false
		for i, j := range open {
			if j != nil && s.touches(equal, j.right) {
				equal = slices.Concat(equal, holds(j.right), equalities(j.on))
				open[i], again = nil, true
			}
		}
	}
	return equal
}

// touches reports whether an equality is of a column of the node.
func (s *Source) touches(equal []pair, n node) bool {
	return slices.ContainsFunc(relationsOf(n), func(r *relation) bool {
		return slices.ContainsFunc(equal, func(p pair) bool { return s.home[p.a] == r || s.home[p.b] == r })
	})
}

func outerJoins(n node) []*joined {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	below := slices.Concat(outerJoins(j.left), outerJoins(j.right))
	if j.outer {
		return append(below, j)
	}
	return below
}

// links returns the equalities along the path to the unit.
func (r *relation) links() []pair {
	var all []pair
	from := r
	for i, h := range r.joins() {
		st := r.table.Unit.Steps[i]
		all = append(all, pair{from.column(st.From), h.column(st.Key)})
		from = h
	}
	return all
}

// region returns the relations that have a row in every row of a node.
func region(n node) []*relation {
	if j, ok := n.(*joined); ok && j.outer {
		return region(j.left)
	} else if ok {
		return slices.Concat(region(j.left), region(j.right))
	}
	return relationsOf(n)
}
