package suggest

import (
	"slices"

	"dpproxy/catalog"
)

// Tables of addresses, cards and the like are reference tables of a policy: rows of people refer to theirs.

// listed are the tables with columns in the policy: the protected ones, and after them the reference tables.
func (d *Draft) listed() []*Table {
	all := slices.Clone(d.Tables)
	for _, o := range d.References {
		if o.As != nil {
			all = append(all, o.As)
		}
	}
	return all
}

// references makes the tables, and finds columns that refer to them by their names alone.
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
}

// refersByName notes the columns that are called as the key of one reference table, and of no other table.
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

// keyAlike reports whether a table has a primary key of one column, of the type of another column.
func (d inspector) keyAlike(r *relation, f *field) bool {
	key := r.key()
	if len(key) != 1 || !isKey(r.Table, key) {
		return false
	}
	of := r.field(key[0])
	return of.Type.BaseOID == f.Type.BaseOID && of.Deterministic && f.Deterministic && of.Collation == f.Collation && !f.Virtual &&
		slices.ContainsFunc(r.Keys, func(k catalog.Key) bool { return k.Primary && slices.Equal(k.Columns, key) })
}

// looksUp reports whether a column refers to a row of a reference table.
func (d inspector) looksUp(t *Table, f *field) bool {
	return slices.ContainsFunc(t.Refers, func(r ByName) bool { return r.Column == f.Name }) ||
		slices.ContainsFunc(f.of.foreign, func(fk catalog.ForeignKey) bool {
			return slices.Contains(fk.Columns, f.Name) && d.isReference(fk.References)
		})
}
