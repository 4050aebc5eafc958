package policy

import (
	"slices"

	"dpproxy/catalog"
)

// An Unproved is a reference of a protected table to rows of people of which the schema does not prove all that the policy takes for
// granted. Nothing rests on it: joins by it compare the units, and a row without a match is nobody's.
type Unproved struct {
	From *Table
	Step
	// Unit says that nothing proves that both rows are of one unit.
	Unit bool
	// Match says that nothing proves that there is a row for each value.
	Match bool
	// SameUnit and Refers say that the policy states that both rows are of one unit, and that there is a row for each value.
	SameUnit, Refers bool
}

// Unproven lists the references beside ways, and the first steps of ways that no foreign key covers. A partition is looked at as
// part of its table.
func Unproven(m *Model) (all []Unproved) {
	for _, n := range m.Protected() {
		t := m.tables[n]
		if m.Whole(t) != t {
			continue
		}
		if len(t.Unit.Steps) > 0 && !enforces(t, t.Unit.Steps[0]) {
			s := t.Unit.Steps[0]
			all = append(all, Unproved{From: t, Step: s, Match: true, Refers: promises(t, s)})
		}
		for _, r := range t.References {
			s := Step{r.From, r.To, r.Key}
			all = append(all, Unproved{t, s, true, !enforces(t, s), r.Said, promises(t, s)})
		}
	}
	return all
}

// Proof returns the foreign key that would prove that both rows are of one unit: it compares the columns of the units as well. It
// is nil if one of the tables has no such column. Indexed says that the other table has the unique index that it needs.
func (u Unproved) Proof() (fk *catalog.ForeignKey, indexed bool) {
	own, its := u.From.unitNames(), u.To.unitNames()
	if !u.Unit || len(own) == 0 || len(its) == 0 {
		return nil, false
	}
	fk = &catalog.ForeignKey{
		Columns: append(slices.Clip(u.Step.From), own[0]), References: u.To.Name, Target: append(slices.Clip(u.Key), its[0]),
	}
	return fk, slices.ContainsFunc(u.To.Source.Keys, func(k catalog.Key) bool {
		lacks := func(c string) bool { return !slices.Contains(fk.Target, c) }
		return len(k.Columns) == len(fk.Target) && !slices.ContainsFunc(k.Columns, lacks)
	})
}
