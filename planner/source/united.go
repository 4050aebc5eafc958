package source

import (
	"errors"
	"slices"

	"dpproxy/planner/scalar"
)

// A row that refers to a row of another table, beside the way to its unit, is joined with it only if both are of one unit: to
//
//	meals m JOIN stays s ON s.id = m.stay_id
//
// the equality of their units is added, each by its own way, unless the statement compares them already. It is a statement that its
// author could have written, so that whatever the data are, its rows are those of one unit: the argument of the package stays as it is.
// Rows that refer to those of another unit have no match, which is what the equality changes. So no foreign key proves
// that a row has one ([policy.Model] says nothing of them to the parser, and [sqltext.Unread] asks for joins of a foreign key alone).
//
// The conditions name the unit of each relation. Where the relation follows another, or is cut, the writer knows how its unit is
// called there.

// proveUnited proves the level, with the equalities of units that references add.
func proveUnited(d *draft) (*proof, error) {
	p, err := prove(&d.shared.terms, d.resolved)
	for a := (*apart)(nil); errors.As(err, &a); p, err = prove(&d.shared.terms, d.resolved) {
		if len(d.resolved.united) == maxRelations {
			return nil, a.error
		}
		if err := compareUnits(d, a.join, a.by); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	beyond := unitsBeyond(p)
	if len(beyond) == 0 {
		return p, nil
	}
	for _, r := range beyond {
		r.alone = true
	}
	return prove(&d.shared.terms, d.resolved)
}

// compareUnits adds the equality of units to a join.
func compareUnits(d *draft, j *joined, by *reference) error {
	c, err := by.condition()
	if err != nil {
		return err
	}
	j.on = append(slices.Clip(j.on), c)
	noteUnited(d, by, by.from, by.to)
	return nil
}

// noteUnited remembers an equality, and of which relations of the level the units are columns now.
func noteUnited(d *draft, by *reference, own ...*relation) {
	d.resolved.united = append(d.resolved.united, *by)
	for _, r := range own {
		if d.resolved.home[r.unit] == nil {
			d.resolved.home[r.unit] = r
		}
	}
}

// proveWithin ends the resolution of FROM and WHERE of a sub-select.
func proveWithin(sc, around scope) error {
	if err := sc.prove(); err != nil {
		return err
	}
	return uniteWith(sc, around)
}

// uniteWith ties the rows of a sub-select to those around it, if one refers to the other and nothing ties their units.
func uniteWith(sc, around scope) error {
	p := sc.proved.proof
	if !p.Protected() || p.unmatched || around.resolved.root == nil {
		return nil
	}
	outer := region(around.resolved.root)
	tied := func(t pair) bool {
		return p.IsUnit(&scalar.Ref{Column: t.a}) &&
			slices.ContainsFunc(outer, func(r *relation) bool { return r.protected() && r.unit.Number == t.b.Number })
	}
	if slices.ContainsFunc(p.ties, tied) { // most are, and nothing else needs to be known then
		return nil
	}
	beside := &proof{resolved: around.resolved} // as far as it is resolved
	_ = beside.judge(&sc.shared.terms)
	c := facts{beside.typ.Meet(p.typ, p.counting())}
	if slices.ContainsFunc(outer, func(r *relation) bool { return r.protected() && c.same(p.unit(), r.unit) }) {
		return nil
	}
	for _, in := range relationsOf(p.root) {
		for _, out := range relationsOf(around.resolved.root) {
			by := referring(c, p.resolved, in, out)
			if by == nil {
				continue
			}
			cond, err := by.condition()
			if err != nil {
				return err
			}
			sc.resolved.where = append(sc.resolved.where, cond)
			noteUnited(sc.draft, by, in)
			sc.resolved.ties = append(sc.resolved.ties, pair{in.unit, out.unit})
			sc.outerColumns = append(sc.outerColumns, out.unit)
			return sc.prove()
		}
	}
	return nil
}
