package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// prove finds the unit of the rows of a level, or refuses them.
func prove(t *terms, r *resolved) (*proof, error) {
	p := &proof{resolved: r, follows: paths{}}
	refused := p.judge(t)
	if err := p.findOwner(t); err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, p.errUnproved()
	}
	for _, j := range r.subselects {
		checked, err := p.ofSameUnit(t, j)
		if err != nil {
			return nil, err
		}
		p.semijoins = append(p.semijoins, checked)
	}
	return p, nil
}

// findOwner finds the relation whose unit is that of every row. Of rows that package core refuses it tells which join is to blame.
func (p *proof) findOwner(t *terms) (err error) {
	rs, c := region(p.root), facts{p.typ}
	p.follows.add(rs, rs, c)
	p.follows.lookUp(rs, p.follows.joinable(p.root, c), p.resolved, c)
	p.owner, err = p.ownerBelow(t, p.root, c)
	return err
}

// Protected reports whether protected rows are read; without any there is no unit.
func (p *proof) Protected() bool { return p.owner != nil }

// Tagged reports whether rows of the level can be of no person: its unit is a tagged text.
func (p *proof) Tagged() bool { return p.Protected() && p.follows.end(p.owner).tagged }

// Identifies reports whether an expression is a column that identifies the unit of each row on which it is not NULL.
func (p *proof) Identifies(x scalar.Expr) bool {
	c, ok := scalar.PlainColumn(x)
	return ok && p.typ.Identifies(col(c))
}

// IsUnit reports whether the expression is a column that identifies the unit.
func (p *proof) IsUnit(x scalar.Expr) bool {
	c, ok := scalar.PlainColumn(x)
	return ok && p.typ.Unit != 0 && p.typ.Equal(col(c), p.typ.Unit)
}

// unit returns the column of the unit of every row, as the proofs know it.
func (p *proof) unit() *scalar.Column { return p.follows.unit(p.owner) }

// paths has, for tables whose path to the unit the statement itself joins, the relation that
// supplies the unit instead. It may be one of a level around.
type paths map[*relation]*relation

// end returns the relation that supplies the unit in the end.
func (f paths) end(r *relation) *relation {
	for f[r] != nil {
		r = f[r]
	}
	return r
}

// unit returns the column that identifies the unit of the relation's rows.
func (f paths) unit(r *relation) *scalar.Column { return f.end(r).unit }

// sameUnit reports whether rows of two relations are of one unit. Of one that follows another either unit is its own.
func (f paths) sameUnit(c facts, l, r *relation) bool {
	for ; l != nil; l = f[l] {
		for of := r; of != nil; of = f[of] {
			if c.same(l.unit, of.unit) {
				return true
			}
		}
	}
	return false
}

// hops are the tables of the path that the statement does not have itself.
func (f paths) hops(r *relation) []*relation {
	if f[r] != nil {
		return nil
	}
	return r.hops
}

// with returns both; of a table that is in both, that of g.
func (f paths) with(g paths) paths {
	both := paths{}
	maps.Copy(both, f)
	maps.Copy(both, g)
	return both
}

// add leaves the path of a table out where the statement itself joins its first step:
// then the unit of the row is that of the relation that it is joined with.
func (f paths) add(rs, among []*relation, c facts) {
	for _, r := range rs {
		if len(r.hops) == 0 || r.alone {
			continue
		}
		st := r.table.Unit.Steps[0]
		for _, to := range among {
			if to != r && to.rows == nil && to.table == st.To && c.follows(r, to, st) {
				f[r] = to
				break
			}
		}
	}
}

// ownerBelow returns the relation that supplies the unit of the node's rows, nil if they are
// public. All protected relations below must be joined on the unit: by equalities
// that hold on every row, or, on the nullable side of an outer join, on every row that
// has a match.
func (p *proof) ownerBelow(t *terms, n node, c facts) (*relation, error) {
	j, ok := n.(*joined)
	if !ok {
		if r := relationsOf(n)[0]; r.protected() {
			return r, nil
		}
		return nil, nil //nolint:nilnil // a public relation has no owner
	}
	left, err := p.ownerBelow(t, j.left, c)
	if err != nil {
		return nil, err
	}
	if j.outer {
		both := slices.Concat(region(j.left), region(j.right))
		c = t.matched(p.outer[j])
		p.follows.add(region(j.right), both, c)
		p.follows.lookUp(region(j.right), relationsOf(j), p.resolved, c)
	}
	right, err := p.ownerBelow(t, j.right, c)
	switch {
	case err != nil:
		return nil, err
	case j.outer && declaresKeys(j.right): // its rows without a match are dropped: left rows would lose theirs
		return nil, notHere(right.at, "Join the public relation with INNER JOIN.",
			"an outer join that shows public keys is on the nullable side of another outer join")
	case left == nil:
		return right, nil
	case right == nil || p.follows.sameUnit(c, left, right):
	case p.follows.unlooked([]*relation{left, right}) != nil:
		return nil, errUnlooked(p.resolved, p.follows.unlooked([]*relation{left, right}))
	default:
		return nil, errApart(p, j, c, left, right)
	}
	if right != nil && !j.outer && ofReference(left) {
		return right, nil
	}
	return left, nil
}

func declaresKeys(n node) bool {
	j, ok := n.(*joined)
	return ok && (j.declares || declaresKeys(j.left) || declaresKeys(j.right))
}

// errDifferentUnits refuses two protected relations that are not joined on the unit. If relations of the two sides are compared by a part
// of a key between them, the rest of that key is what lacks.
func (p *proof) errDifferentUnits(j *joined, c facts, l, r *relation) error {
	if r.refusal != nil {
		return r.refusal
	}
	unit := p.model.Unit()
	e := pgerr.New(pgerr.Ownership, "rows of %q and %q are joined that need not belong to the same %s", l.name, r.name, unit).At(r.at)
	ln, rn := unitName(l), unitName(r)
	path, begun := pathBetween(j, c)
	switch {
	case begun:
		return e.WithHint("Join them by the whole key, along the path to the unit: %s.", path)
	case ln != "" && rn != "":
		return e.WithHint("Join them on the unit: %s = %s.", ln, rn)
	case path != "":
		return e.WithHint("Join them along the path to the unit: %s.", path)
	}
	return e.WithHint("Both sides must have the column that identifies the %s, and be joined on it.", unit)
}

// pathBetween writes a declared step between tables of the sides of a join: if there is one, of two that are compared by a part of its
// key already. It is "" if there is none that a statement can name.
func pathBetween(j *joined, c facts) (path string, begun bool) {
	for _, l := range relationsOf(j.left) {
		for _, r := range relationsOf(j.right) {
			from, to := stepBetween(l, r)
			if from == nil {
				continue
			}
			var equal []string
			st, compared := from.table.Unit.Steps[0], 0
			for i := range st.From {
				if c.same(from.column(st.From[i]), to.column(st.Key[i])) {
					compared++
				}
				equal = append(equal, fmt.Sprintf("%s.%s = %s.%s", from.name, st.From[i], to.name, st.Key[i]))
			}
			if compared > 0 && compared < len(st.From) {
				return strings.Join(equal, " AND "), true
			}
			path = cmp.Or(path, strings.Join(equal, " AND "))
		}
	}
	return path, false
}

// unitName writes the column that a statement can name as the unit; "" if there is none.
func unitName(r *relation) string {
	if r.rows == nil {
		if ofReference(r) || len(r.table.Unit.Steps) > 0 || r.table.Hides(r.table.Unit.Column) {
			return ""
		}
		return r.name + "." + r.table.Unit.Column
	}
	for i, c := range r.columns {
		if r.name != "" && !slices.ContainsFunc(r.rows.branches, func(b *branch) bool { return !b.source.IsUnit(b.targets[i]) }) {
			return r.name + "." + c.Name
		}
	}
	return ""
}

// stepBetween returns the tables of a declared step between two, in its direction; nil if there is none that a statement can name.
func stepBetween(l, r *relation) (from, to *relation) {
	for _, two := range [][2]*relation{{l, r}, {r, l}} {
		from, to := two[0], two[1]
		if from.rows != nil || to.rows != nil || len(from.table.Unit.Steps) == 0 {
			continue
		}
		if st := from.table.Unit.Steps[0]; st.To == to.table &&
			!slices.ContainsFunc(st.From, from.table.Hides) && !slices.ContainsFunc(st.Key, to.table.Hides) {
			return from, to
		}
	}
	return nil, nil
}
