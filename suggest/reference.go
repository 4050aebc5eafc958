package suggest

import (
	"slices"
	"strings"

	"dpproxy/catalog"
)

// Tables of addresses, cards and the like are reference tables of a policy: rows of people refer to their rows.

// listed returns the tables with columns in the policy: the protected tables, and then the reference tables.
func (d *Draft) listed() []*Table {
	all := slices.Clone(d.Tables)
	for _, o := range d.References {
		if o.As != nil {
			all = append(all, o.As)
		}
	}
	return all
}

// references makes the reference tables, and finds columns that refer to tables by their names alone.
func (d inspector) references() {
	for i := range d.References {
		o := &d.References[i]
		r := d.rels[o.Table]
		o.As = &Table{Source: r.Table, Distance: 1}
		for _, fk := range r.foreign {
			if d.Table(fk.References) == nil {
				continue
			}
			for _, c := range fk.Columns {
				if !slices.Contains(o.As.NotProtected, c) {
					o.As.NotProtected = append(o.As.NotProtected, c)
				}
			}
		}
	}
	for _, t := range d.listed() {
		d.refersByName(t)
	}
	for _, t := range d.Tables {
		d.refersToPeopleByName(t)
	}
}

// refersToPeopleByName records the columns that have the name of the primary key of one protected table, and of no other table. The row
// there is assumed to belong to the same unit, as with a foreign key, unless it usually belongs to another.
func (d inspector) refersToPeopleByName(t *Table) {
	for _, f := range d.rels[t.Source.Name].fields {
		beside := f.foreign || f.Name == t.Unit || f.ownKey() || d.looksUp(t, f) ||
			slices.Contains(t.Via, f.Name) || slices.Contains(t.NotProtected, f.Name)
		if beside || !f.identifier() || general(f.words) {
			continue
		}
		to := d.keyed(f)
		if to == nil {
			continue
		}
		by := catalog.ForeignKey{Columns: []string{f.Name}, References: to.Source.Name, Target: d.rels[to.Source.Name].key()}
		if !pathfinder(d).othersRow(f.of, by) {
			t.Refers = append(t.Refers, ByName{f.Name, to.Source.Name})
			t.SamePerson = append(t.SamePerson, f.Name)
		}
	}
}

// keyed returns the protected table whose primary key has the name of a column; nil if there is none, or if another table has such a key
// too.
func (d inspector) keyed(f *field) *Table {
	var found []*relation
	for _, o := range d.spelled[strings.Join(f.words, " ")] {
		if o.of != f.of && o.ownKey() && d.keyAlike(o.of, f) {
			found = append(found, o.of)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return d.Table(found[0].Name)
}

// refersByName records the columns that are named after one reference table, and no other table.
func (d inspector) refersByName(t *Table) {
	for _, f := range d.rels[t.Source.Name].fields {
		if f.foreign || !f.identifier() || f.Name == t.Unit || slices.Contains(t.Via, f.Name) || f.ownKey() {
			continue
		}
		to := d.called[last(f.stem())]
		if len(to) == 1 && to[0] != f.of && d.isReference(to[0].Name) && d.keyAlike(to[0], f) {
			t.Refers = append(t.Refers, ByName{f.Name, to[0].Name})
		}
	}
}

// keyAlike reports whether the primary key of a table is a single column of the same type as a given column.
func (d inspector) keyAlike(r *relation, f *field) bool {
	key := r.key()
	if len(key) != 1 || !isKey(r.Table, key) {
		return false
	}
	of := r.field(key[0])
	return of.Type.BaseOID == f.Type.BaseOID && of.Deterministic && f.Deterministic && of.Collation == f.Collation && !f.Virtual &&
		slices.ContainsFunc(r.Keys, func(k catalog.Key) bool { return k.Primary && slices.Equal(k.Columns, key) })
}

// byName returns the table to which a column refers by its name alone.
func (t *Table) byName(column string) (to catalog.Name, found bool) {
	i := slices.IndexFunc(t.Refers, func(r ByName) bool { return r.Column == column })
	if i < 0 {
		return catalog.Name{}, false
	}
	return t.Refers[i].To, true
}

// looksUp reports whether a column refers to a row of a reference table, or by its name alone to a row of the same unit.
func (d inspector) looksUp(t *Table, f *field) bool {
	_, byName := t.byName(f.Name)
	return byName ||
		slices.ContainsFunc(f.of.foreign, func(fk catalog.ForeignKey) bool {
			return slices.Contains(fk.Columns, f.Name) && d.isReference(fk.References)
		})
}
