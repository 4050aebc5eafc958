package suggest

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
	"dpproxy/suggest/words"
)

// A pathfinder finds the ways of tables to the unit.
type pathfinder struct{ *Draft }

// protect finds the tables that lead to the unit, nearest first. A round uses only the tables of earlier rounds, so that the order of
// tables decides nothing.
func (d pathfinder) protect() {
	if len(d.unit.held) > 0 {
		d.place(&Table{Source: d.rels[d.Unit.Table].Table, Way: Way{Unit: d.Unit.Column}})
	}
	for distance := 1; ; distance++ {
		var found []*Table
		for _, r := range d.unprotected() {
			if protectable(r.Table) != "" {
				continue
			}
			if w, ok := d.wayOf(r); ok {
				found = append(found, &Table{Source: r.Table, Way: w, Distance: distance})
			}
		}
		if len(found) == 0 && distance > 1 {
			break
		}
		for _, t := range found {
			d.place(t)
		}
	}
	d.askRoles()
	for _, t := range d.Tables {
		d.besides(t)
	}
}

func (d pathfinder) place(t *Table) {
	t.OnePerUnit = d.onePerUnit(t)
	d.Tables = append(d.Tables, t)
	d.placed[t.Source.Name] = t
}

// onePerUnit reports whether keys prove that each unit has at most one row.
func (d pathfinder) onePerUnit(t *Table) bool {
	if t.Unit != "" {
		return unique(t.Source, []string{t.Unit})
	}
	return unique(t.Source, t.Via) && d.Table(t.To).OnePerUnit
}

// wayOf returns the way of a table to placed tables. If a row names several people equally, it asks.
func (d pathfinder) wayOf(r *relation) (Way, bool) {
	if _, has := d.choices.Given[r.Name]; has {
		return d.given(r)
	}
	if by := d.choices.Ways[r.Name]; by != "" {
		return d.wayBy(r, by)
	}
	all := d.unit.persons(r)
	if d.outward(r.Name) { // it is about others too, unless it has an owner
		all = slices.DeleteFunc(slices.Clone(all), func(p person) bool { return p.kind != exact && p.kind != owning })
	}
	owners, others := d.owners(all)
	switch {
	case len(owners) == 1 && (others == 0 || owners[0].kind != paired):
		return owners[0].way, true
	case len(owners) > 0 || others > 0:
		d.askSeveral(r, all)
		return Way{}, false
	case d.outward(r.Name):
		return Way{}, false
	}
	return d.wayAlong(r)
}

// owners returns the persons to whom a row can belong, and the number of persons whose part is unknown. If there is nothing better, a
// single person of unknown part is the owner.
func (pathfinder) owners(all []person) (owners []person, others int) {
	var unknowns []person
	for _, p := range all {
		switch p.kind {
		case exact, owning, paired:
			owners = append(owners, p)
		case unknown:
			unknowns = append(unknowns, p)
		case role:
		}
	}
	if len(owners) == 0 && len(unknowns) == 1 {
		return unknowns, 0
	}
	if len(owners) == 1 && owners[0].kind != paired {
		return owners, 0
	}
	return owners, len(unknowns)
}

// wayAlong returns the best way by a foreign key to a placed table, apart from optional references and from people's parts in a row.
func (d pathfinder) wayAlong(r *relation) (Way, bool) {
	var best Way
	least := -1
	for _, fk := range r.foreign {
		w, ok := d.wayByKey(r, fk)
		if !ok || d.optional(r, w) || d.byPart(r, fk) {
			continue
		}
		if rank := d.rank(r, w); least < 0 || rank < least {
			best, least = w, rank
		}
	}
	return best, least >= 0
}

// rank is lower for a better way: without a role of another person, by the beginning of the primary key, by columns that are never NULL, by
// a column with the name of the key to which it leads.
func (d pathfinder) rank(r *relation, w Way) (n int) {
	columns := w.columns()
	if slices.ContainsFunc(columns, func(c string) bool { return words.Has(r.field(c).words, words.Role, words.Pair) }) {
		n += 16
	}
	if key := r.key(); len(key) < len(columns) || !slices.ContainsFunc(columns, func(c string) bool { return c == key[0] }) {
		n += 8
	}
	if slices.ContainsFunc(columns, func(c string) bool { return !r.field(c).NotNull }) {
		n += 4
	}
	if w.Unit == "" {
		n++
		if to := d.rels[w.To]; len(columns) == 1 && !r.field(columns[0]).calls(to, to.field(w.At[0])) {
			n += 2
		}
	}
	return n
}

// wayByKey returns the way by a foreign key to a placed table. A column that refers to the unit's column of that table holds the unit too.
func (d pathfinder) wayByKey(r *relation, fk catalog.ForeignKey) (Way, bool) {
	to := d.Table(fk.References)
	if to == nil || to.Source == r.Table {
		return Way{}, false
	}
	for i, target := range fk.Target {
		if f := r.field(fk.Columns[i]); f != nil && target == to.Unit && identifies(f.Column) && !d.plays(f) {
			return Way{Key: fk.Name, Unit: f.Name}, true
		}
	}
	if !isKey(to.Source, fk.Target) || d.namesPeople(r, fk) {
		return Way{}, false
	}
	return Way{Key: fk.Name, Via: fk.Columns, To: fk.References, At: fk.Target}, true
}

// plays reports whether a column names a person by their part in the row.
func (d pathfinder) plays(f *field) bool {
	return slices.ContainsFunc(d.unit.persons(f.of), func(p person) bool {
		return p.kind == role && slices.Contains(p.columns(), f.Name)
	})
}

// namesPeople reports whether a row names a person by a foreign key. A reference without a name is a reference by name alone.
func (d pathfinder) namesPeople(r *relation, fk catalog.ForeignKey) bool {
	return fk.Name != "" && slices.ContainsFunc(d.unit.persons(r), func(p person) bool { return p.way.Key == fk.Name })
}

// optional reports whether a way can be NULL and has another name than the key to which it leads: the photo of an album, the last visit of
// a bed.
func (d pathfinder) optional(r *relation, w Way) bool {
	if w.Unit != "" || len(w.Via) != 1 {
		return false
	}
	f, to := r.field(w.Via[0]), d.rels[w.To]
	at := to.field(w.At[0])
	return !f.NotNull && !f.calls(to, at)
}

// wayBy returns the way of a table that an administrator has chosen by its columns.
func (d pathfinder) wayBy(r *relation, by string) (Way, bool) {
	for _, w := range d.everyWay(r) {
		if w.by() == by {
			return w, true
		}
	}
	return Way{}, false
}

// everyWay returns all ways of a table to placed tables.
func (d pathfinder) everyWay(r *relation) []Way {
	var all []Way
	for _, p := range d.unit.persons(r) {
		if p.way.To == (catalog.Name{}) || d.Table(p.way.To) != nil {
			all = append(all, p.way)
		}
	}
	for _, fk := range r.foreign {
		if w, ok := d.wayByKey(r, fk); ok {
			all = append(all, w)
		}
	}
	all = append(all, d.waysByName(r)...)
	if w, ok := d.waySuper(r); ok {
		all = append(all, w)
	}
	return all
}

// waysByName returns the ways by columns without a foreign key that have the name of a key of a protected table. Many rows may share such a
// key, such as a room, so these ways are asked about.
func (d pathfinder) waysByName(r *relation) []Way {
	var all []Way
	for _, t := range d.Tables {
		to := d.rels[t.Source.Name]
		if to == d.rels[d.Unit.Table] && d.unit.keyed() || to == r {
			continue
		}
		for _, k := range to.Keys {
			if w, ok := d.wayByName(r, to, k.Columns); ok {
				all = append(all, w)
				break
			}
		}
	}
	return all
}

// wayByName returns the way by columns that have the names of a key of another table.
func (pathfinder) wayByName(r, to *relation, key []string) (Way, bool) {
	if !isKey(to.Table, key) {
		return Way{}, false
	}
	var via []string
	for _, column := range key {
		target := to.field(column)
		i := slices.IndexFunc(r.fields, func(f *field) bool {
			same := slices.Equal(f.words, target.words) && (!general(f.words) || len(key) > 1)
			bare := f.fam != pgtype.TextFamily && slices.Equal(f.words, []string{to.row()})
			return !f.foreign && f.Type.BaseOID == target.Type.BaseOID && f.Deterministic && target.Deterministic &&
				(same || len(key) == 1 && (bare || f.numbers() && f.calls(to, target)))
		})
		if i < 0 || slices.Contains(via, r.fields[i].Name) {
			return Way{}, false
		}
		via = append(via, r.fields[i].Name)
	}
	return Way{Via: via, To: to.Name, At: key, ByName: true}, !slices.Equal(via, r.key())
}

// waySuper returns the way of a table that refers to a supertype of the unit: by the column that holds the unit if it refers to a person.
func (d pathfinder) waySuper(r *relation) (Way, bool) {
	supers := d.unit.supers()
	for _, fk := range r.foreign {
		for i, target := range fk.Target {
			if f := r.field(fk.Columns[i]); supers[fk.References] == target && r.Name != d.Unit.Table && f.fam == d.unit.column.fam {
				return Way{Key: fk.Name, Unit: f.Name}, true
			}
		}
	}
	return Way{}, false
}

// superOf returns the supertype to which a way leads, or no name.
func (d pathfinder) superOf(w Way) catalog.Name {
	for n := range d.unit.supers() {
		for _, r := range d.referring[n] {
			if slices.ContainsFunc(r.foreign, func(fk catalog.ForeignKey) bool {
				return fk.Name == w.Key && fk.References == n && slices.Contains(fk.Columns, w.Unit)
			}) {
				return n
			}
		}
	}
	return catalog.Name{}
}
