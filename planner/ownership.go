package planner

import (
	"fmt"
	"slices"

	"dpproxy/pgerr"
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

// reached adds the equalities of the outer joins below the nodes that have a match on every
// row: one that is equal to something is not NULL.
func (s *source) reached(equal []pair, nodes ...node) []pair {
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
func (s *source) touches(equal []pair, n node) bool {
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

// own finds the relation whose unit is that of every row.
func (s *source) own() (err error) {
	rs := region(s.root)
	s.classes = newClasses(s.equal, rs)
	follow(rs, rs, s.classes)
	s.owner, err = s.owned(s.root, s.classes)
	return err
}

// follow leaves the path of a table out where the statement itself joins its first step:
// then the unit of the row is that of the relation that it is joined with.
func follow(rs, among []*relation, c *classes) {
	for _, r := range rs {
		if len(r.hops) == 0 {
			continue
		}
		st := r.table.Unit.Steps[0]
		for _, to := range among {
			if to != r && to.rows == nil && to.table == st.To && c.same(r.column(st.From), to.column(st.Key)) {
				r.follows = to
				break
			}
		}
	}
}

// owned returns the relation that supplies the unit of the node's rows, nil if they are
// public. All protected relations below must be joined on the unit: by equalities
// that hold on every row, or, on the nullable side of an outer join, on every row that
// has a match.
func (s *source) owned(n node, c *classes) (*relation, error) {
	j, ok := n.(*joined)
	if !ok {
		if r := relationsOf(n)[0]; r.protected() {
			return r, nil
		}
		return nil, nil //nolint:nilnil // a public relation has no owner
	}
	left, err := s.owned(j.left, c)
	if err != nil {
		return nil, err
	}
	if j.outer {
		on := s.reached(slices.Concat(holds(j.left), holds(j.right), equalities(j.on)), j.left, j.right)
		c = newClasses(on, slices.Concat(region(j.left), region(j.right)))
		follow(region(j.right), slices.Concat(region(j.left), region(j.right)), c)
	}
	right, err := s.owned(j.right, c)
	switch {
	case err != nil:
		return nil, err
	case j.outer && declaresKeys(j.right):
		return nil, notHere(right.at, "Join the public relation with INNER JOIN.", "an outer join that shows public keys is on the nullable side of another outer join")
	case left == nil:
		return right, nil
	case right != nil && !c.same(left.unitColumn(), right.unitColumn()):
		return nil, s.untied(left, right)
	}
	return left, nil
}

func declaresKeys(n node) bool {
	j, ok := n.(*joined)
	return ok && (j.declares || declaresKeys(j.left) || declaresKeys(j.right))
}

// untied refuses two protected relations that are not joined on the unit.
func (s *source) untied(l, r *relation) error {
	e := pgerr.New(pgerr.Ownership, "rows of %q and %q are joined that need not belong to the same %s", l.name, r.name, s.b.q.cat.Unit()).At(r.at)
	ln, rn := l.unitName(), r.unitName()
	if ln != "" && rn != "" {
		return e.WithHint("Join them on the unit: %s = %s.", ln, rn)
	}
	if path := joinAlong(l, r); path != "" {
		return e.WithHint("Join them along the path to the unit: %s.", path)
	}
	return e.WithHint("Both sides must have the column that identifies the %s, and be joined on it.", s.b.q.cat.Unit())
}

// unitName writes the column that a statement can name as the unit; "" if there is none.
func (r *relation) unitName() string {
	if r.rows == nil {
		if len(r.table.Unit.Steps) > 0 || r.table.Hides(r.table.Unit.Column) {
			return ""
		}
		return r.name + "." + r.table.Unit.Column
	}
	for _, p := range r.rows.equal(r) {
		if p.b == r.unit && r.name != "" {
			return r.name + "." + p.a.Name
		}
	}
	return ""
}

// joinAlong writes the declared step between two tables, in either direction; "" if there is none
// that a statement can name.
func joinAlong(l, r *relation) string {
	for _, two := range [][2]*relation{{l, r}, {r, l}} {
		from, to := two[0], two[1]
		if from.rows != nil || to.rows != nil || len(from.table.Unit.Steps) == 0 {
			continue
		}
		if st := from.table.Unit.Steps[0]; st.To == to.table && !from.table.Hides(st.From) && !to.table.Hides(st.Key) {
			return fmt.Sprintf("%s.%s = %s.%s", from.name, st.From, to.name, st.Key)
		}
	}
	return ""
}
