package policy

import (
	"fmt"
	"slices"

	"dpproxy/catalog"
)

// A ReferencePolicy says that columns of a table refer to a key of another one, where no foreign key says so.
type ReferencePolicy struct {
	From []string
	// To is the table, with the column of its key; if that is empty, the key is the one that a foreign key names, or the primary key.
	To ColumnName
}

// A Reference leads from a row of a protected table to one row of another, beside the way to its unit. Nothing proves that both
// rows are of one unit, and nothing rests on it: a join along it compares the units as well.
type Reference struct {
	From []string
	To   *Table
	Key  []string
	// Said says that the policy knows of it (same_unit): notices need not say that units are compared.
	Said bool
}

// references finds those of a table, and refuses what leads to another person.
func (c *checker) references(t *Table, p *TablePolicy) {
	excused := func(column string) bool { return slices.Contains(p.NotProtected, column) }
	for _, fk := range slices.Concat(t.Source.Foreign, t.Source.Loose) {
		target := c.model.tables[fk.References]
		switch {
		case target == nil || target.Public || t.Public && target.Reference:
		case t.Public:
			c.problem(p.Name, "public", "the table references the protected table %s", fk.References)
		case target.Reference:
			looksUp(t, Step{From: fk.Columns, To: target, Key: fk.Target})
		case t.Reference:
			leadsBack(c, t, fk, excused)
		case alongWay(t, fk, target) || slices.ContainsFunc(fk.Columns, excused):
		case target.onePerUnit() || namesUnit(target, fk.Target):
			c.problem(p.Name, "unit",
				"the foreign key %s (%s) is a second way from a row to a unit: a row about two people protects only one of them; "+
					"name the column under not_protected to accept that", fk.Name, columnList(fk.Columns))
		default:
			t.References = append(t.References, Reference{From: fk.Columns, To: target, Key: fk.Target})
		}
	}
	for _, r := range p.Refers {
		c.promised(t, r)
	}
	if t.Reference {
		t.Source = withoutPeople(c.model, t.Source)
	}
	c.sameUnitAs(t, p)
}

// comparesUnits reports whether a join along a foreign key compares the units of both rows as well: then no row is sure to have a match.
func comparesUnits(t *Table, fk catalog.ForeignKey) bool {
	return slices.ContainsFunc(t.References, func(r Reference) bool {
		return r.To.Name == fk.References && slices.Equal(r.From, fk.Columns)
	})
}

// alongWay reports whether a foreign key leads along the way to the unit, or to a row that is proved to be of the same unit.
func alongWay(t *Table, fk catalog.ForeignKey, target *Table) bool {
	if len(fk.Columns) == 1 {
		if len(t.Unit.Steps) == 0 && fk.Columns[0] == t.Unit.Column {
			return true
		}
		if len(t.Unit.Steps) > 0 && slices.Equal(t.Unit.Steps[0].From, fk.Columns) {
			return true
		}
	}
	return ofSameUnit(t, fk, target)
}

// namesUnit reports whether one of some columns of the table identifies the unit of its row.
func namesUnit(t *Table, columns []string) bool {
	return slices.ContainsFunc(t.unitNames(), func(name string) bool { return slices.Contains(columns, name) })
}

// promised adds a reference that the policy states.
func (c *checker) promised(t *Table, r ReferencePolicy) {
	where := "refers." + columnList(r.From)
	for _, name := range r.From {
		if _, ok := t.Source.Column(name); !ok {
			c.problem(t.Name, where, "there is no column %q", name)
			return
		}
	}
	to := c.model.tables[r.To.Table]
	if to == nil {
		c.problem(t.Name, where, "%s is no table of the policy", r.To.Table)
		return
	}
	s := Step{From: r.From, To: to, Key: []string{r.To.Column}}
	if r.To.Column == "" {
		s.Key = referred(t.Source, to.Source, r.From)
	}
	switch {
	case s.Key == nil || !hasKey(to.Source, s.Key):
		c.problem(t.Name, where, "%s has no key over NOT NULL columns that (%s) could refer to: write {via: column, to: table.column}",
			r.To.Table, columnList(r.From))
		return
	case t.Reference && ofPeople(to):
		c.problem(t.Name, where, "%s has rows of people: a reference table leads to reference tables alone", r.To.Table)
		return
	case ofPeople(to) && (to.onePerUnit() || namesUnit(to, s.Key)) && !alongWay(t, catalog.ForeignKey{Columns: s.From, Target: s.Key}, to):
		c.problem(t.Name, where, "it refers to another %s: a row about two people protects only one of them; "+
			"name the column under not_protected to accept that", c.model.unit)
		return
	}
	for i := range s.From {
		if problem := unlike(t, s, i); problem != "" && (!to.Reference || !alike(t, s, i)) {
			c.problem(t.Name, where, "%s and %s.%s %s", s.From[i], to.Name, s.Key[i], problem)
			return
		}
	}
	t.promises = append(t.promises, s)
	if to.Reference {
		looksUp(t, s)
	} else if !to.Public && !firstStep(t, s) && !slices.ContainsFunc(t.References, func(r Reference) bool { return r.is(s) }) {
		t.References = append(t.References, Reference{From: s.From, To: to, Key: s.Key})
	}
}

func (r Reference) is(s Step) bool {
	return r.To == s.To && slices.Equal(r.From, s.From) && slices.Equal(r.Key, s.Key)
}

// firstStep reports whether a step is the first of the way to the unit.
func firstStep(t *Table, s Step) bool {
	return len(t.Unit.Steps) > 0 && t.Unit.Steps[0].To == s.To && slices.Equal(t.Unit.Steps[0].From, s.From)
}

// sameUnitAs notes for which references the policy says that both rows are of one unit.
func (c *checker) sameUnitAs(t *Table, p *TablePolicy) {
	for _, name := range p.SameUnit {
		found := false
		for i := range t.References {
			if slices.Contains(t.References[i].From, name) {
				t.References[i].Said, found = true, true
			}
		}
		if !found {
			c.problem(p.Name, "same_unit", "%q is no reference to rows of people beside the way to the unit: no foreign key says so, "+
				"and refers does not", name)
		}
	}
}

// shownReference writes a reference for people, without names that the policy hides.
func shownReference(t *Table, r Reference) string {
	return fmt.Sprintf("%s refers to %s", t.ShownList(r.From), r.To.Name.Name)
}

// Assumed lists the references of the table of which the policy does not say that they stay with one unit.
func Assumed(t *Table, unit string) (all []Remark) {
	for _, r := range t.References {
		if r.Said {
			continue
		}
		all = append(all, Remark{
			t.Name,
			fmt.Sprintf("%[1]s, taken for a row of the same %[2]s: joins by it keep only pairs of one %[2]s, and a row "+
				"that refers to another %[2]s's does not protect that one; say same_unit: [%[3]s] if that is so, or not_protected: [%[3]s]",
				shownReference(t, r), unit, columnList(r.From)),
			fmt.Sprintf("references that are taken for ones to rows of the same %[1]s: joins by them keep only pairs of one %[1]s, and a "+
				"row that refers to another %[1]s's does not protect that one; say same_unit of a table if that is so, or not_protected",
				unit),
			shownReference(t, r),
		})
	}
	return all
}

// Unpromised says of which step of the table's own way no foreign key says where it leads, nor the policy; nil if there is none.
func Unpromised(t *Table, unit string) []Remark {
	if !unpromised(t) {
		return nil
	}
	s := t.Unit.Steps[0]
	return []Remark{{
		t.Name,
		fmt.Sprintf("no foreign key says that %[1]s refers to %[2]s: rows are of the %[3]s that is found there; if each value means a "+
			"row there, say refers: {%[4]s: %[2]s}", t.ShownList(s.From), s.To.Name.Name, unit, columnList(s.From)),
		fmt.Sprintf("no foreign key says where the way to the %[1]s leads: rows are of the %[1]s that is found there; if each value "+
			"means a row there, say refers of a table", unit),
		fmt.Sprintf("refers: {%s: %s}", columnList(s.From), s.To.Name.Name),
	}}
}

// unpromised reports whether neither a foreign key nor the policy says where the first step of the table's way leads.
func unpromised(t *Table) bool {
	if !ofPeople(t) || len(t.Unit.Steps) == 0 {
		return false
	}
	s := t.Unit.Steps[0]
	return !refersTo(t, s) && !promises(t, s)
}

// promises reports whether the policy says that a step leads from each value to a row.
func promises(t *Table, s Step) bool {
	return slices.ContainsFunc(t.promises, func(p Step) bool { return p.To == s.To && slices.Equal(p.From, s.From) })
}

// refersTo reports whether a foreign key, enforced or not, says what the step says.
func refersTo(t *Table, s Step) bool {
	return slices.ContainsFunc(slices.Concat(t.Source.Foreign, t.Source.Loose), func(fk catalog.ForeignKey) bool {
		return fk.References == s.To.Name && len(fk.Columns) == len(s.From) && !slices.ContainsFunc(s.From, func(name string) bool {
			return !slices.Contains(fk.Columns, name)
		})
	})
}
