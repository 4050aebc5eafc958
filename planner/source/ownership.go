package source

import (
	"fmt"
	"slices"

	"dpproxy/pgerr"
)

// findOwner finds the relation whose unit is that of every row.
func (s *Source) findOwner() (err error) {
	rs := region(s.root)
	s.classes = newClasses(s.equal, rs)
	follow(rs, rs, s.classes)
	s.owner, err = s.ownerBelow(s.root, s.classes)
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

// ownerBelow returns the relation that supplies the unit of the node's rows, nil if they are
// public. All protected relations below must be joined on the unit: by equalities
// that hold on every row, or, on the nullable side of an outer join, on every row that
// has a match.
func (s *Source) ownerBelow(n node, c *classes) (*relation, error) {
	j, ok := n.(*joined)
	if !ok {
		if r := relationsOf(n)[0]; r.protected() {
			return r, nil
		}
		return nil, nil //nolint:nilnil // a public relation has no owner
	}
	left, err := s.ownerBelow(j.left, c)
	if err != nil {
		return nil, err
	}
	if j.outer {
		on := s.withMatches(slices.Concat(holds(j.left), holds(j.right), equalities(j.on)), j.left, j.right)
		c = newClasses(on, slices.Concat(region(j.left), region(j.right)))
		follow(region(j.right), slices.Concat(region(j.left), region(j.right)), c)
	}
	right, err := s.ownerBelow(j.right, c)
	switch {
	case err != nil:
		return nil, err
	case j.outer && declaresKeys(j.right):
		return nil, notHere(right.at, "Join the public relation with INNER JOIN.", "an outer join that shows public keys is on the nullable side of another outer join")
	case left == nil:
		return right, nil
	case right != nil && !c.same(left.unitColumn(), right.unitColumn()):
		return nil, s.errDifferentUnits(left, right)
	}
	return left, nil
}

func declaresKeys(n node) bool {
	j, ok := n.(*joined)
	return ok && (j.declares || declaresKeys(j.left) || declaresKeys(j.right))
}

// errDifferentUnits refuses two protected relations that are not joined on the unit.
func (s *Source) errDifferentUnits(l, r *relation) error {
	e := pgerr.New(pgerr.Ownership, "rows of %q and %q are joined that need not belong to the same %s", l.name, r.name, s.b.model.Unit()).At(r.at)
	ln, rn := l.unitName(), r.unitName()
	if ln != "" && rn != "" {
		return e.WithHint("Join them on the unit: %s = %s.", ln, rn)
	}
	if path := joinAlong(l, r); path != "" {
		return e.WithHint("Join them along the path to the unit: %s.", path)
	}
	return e.WithHint("Both sides must have the column that identifies the %s, and be joined on it.", s.b.model.Unit())
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
