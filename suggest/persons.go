package suggest

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/suggest/words"
)

// A unit knows which columns of other tables identify people.
type unit struct {
	*catalogue
	table  catalog.Name
	column *field
	// words are the words for a person: of the table, and of the key.
	words []string
	// held has the columns with the same values as the unit's column that are keys of their tables: tables of parts.
	held map[catalog.Name][]string
	// found caches the persons of tables.
	found map[catalog.Name][]person
	// out are the tables to which the unit's table refers, once they have been asked for.
	out map[catalog.Name]bool
	// above has the supertypes of the unit's table, each with the column that holds the unit, once they have been asked for.
	above map[catalog.Name]string
}

// unitOf returns the unit of a candidate.
func (c *catalogue) unitOf(a *Candidate) *unit {
	r := c.rels[a.Table]
	u := &unit{
		catalogue: c, table: a.Table, column: r.field(a.Column),
		held: map[catalog.Name][]string{}, found: map[catalog.Name][]person{},
	}
	if a.rowless {
		u.words = u.column.stem()
	} else {
		u.words = []string{r.row()}
		for _, w := range u.column.stem() { // subject_id in patients
			if words.Is(w, words.Served, words.PersonNumber) && !slices.Contains(u.words, w) {
				u.words = append(u.words, w)
			}
		}
		u.held[a.Table] = []string{a.Column}
		u.hold(r)
	}
	return u
}

// hold follows keys that refer to the unit's column from table to table.
func (u *unit) hold(r *relation) {
	for _, from := range u.referring[r.Name] {
		for _, fk := range from.foreign {
			for i, target := range fk.Target {
				column := fk.Columns[i]
				if fk.References == r.Name && slices.Contains(u.held[r.Name], target) && unique(from.Table, []string{column}) &&
					from.Name != u.table && !slices.Contains(u.held[from.Name], column) {
					u.held[from.Name] = append(u.held[from.Name], column)
					u.hold(from)
				}
			}
		}
	}
}

// keyed reports whether the unit's table has one row for each unit.
func (u *unit) keyed() bool {
	return len(u.held) > 0 && unique(u.rels[u.table].Table, []string{u.column.Name})
}

// A kind says whether a column that identifies a person makes the row that person's.
type kind int

const (
	exact   kind = iota // has the name of the unit's key, or its word: the row is that person's
	owning              // owner, author, sender
	paired              // receiver, from, to: the row is as much that person's
	unknown             // has another name
	role                // the part of another person in the row: approved_by, manager
)

// A person is a column, or a foreign key, by which a row names a person.
type person struct {
	// way leads to the unit by this person alone.
	way  Way
	kind kind
}

// columns are the columns that name the person.
func (p person) columns() []string { return p.way.columns() }

// persons returns the persons of another table, foreign keys first.
func (u *unit) persons(r *relation) []person {
	all, ok := u.found[r.Name]
	if !ok {
		all = u.findPersons(r)
		u.found[r.Name] = all
	}
	return all
}

func (u *unit) findPersons(r *relation) []person {
	var all []person
	add := func(p person) {
		if !slices.ContainsFunc(all, func(other person) bool { return slices.Equal(other.columns(), p.columns()) }) {
			all = append(all, p)
		}
	}
	for _, fk := range r.foreign {
		if way, ok := u.wayToSomebody(r, fk); ok {
			add(person{way, u.kindOf(r, way)})
		}
	}
	for _, f := range r.fields {
		if k, ok := u.named(f); ok {
			add(person{Way{Unit: f.Name, ByName: true}, k})
		}
	}
	return all
}

// wayToSomebody returns the way by a foreign key to the unit's table, or to a part of it. A column that refers to the unit's own column
// holds the unit.
func (u *unit) wayToSomebody(r *relation, fk catalog.ForeignKey) (Way, bool) {
	for i, target := range fk.Target {
		if slices.Contains(u.held[fk.References], target) && (r.Name != u.table || fk.References != u.table) {
			if f := r.field(fk.Columns[i]); f != nil && identifies(f.Column) && f.fam == u.column.fam {
				return Way{Key: fk.Name, Unit: f.Name}, true
			}
		}
	}
	if to := u.rels[fk.References]; fk.References == u.table && u.keyed() && r.Name != u.table && isKey(to.Table, fk.Target) {
		return Way{Key: fk.Name, Via: fk.Columns, To: fk.References, At: fk.Target}, true
	}
	return Way{}, false
}

// named reports whether a column without a foreign key identifies a person, by its name: the name of the unit's key, unless that fits any
// table, or the word for a unit with an identifier. Further words in the name mean another person, or a role.
func (u *unit) named(f *field) (kind, bool) {
	if f.foreign || f.fam != u.column.fam || !identifies(f.Column) || len(u.held[f.of.Name]) > 0 || u.supers()[f.of.Name] != "" {
		return 0, false
	}
	if u.isCalled(f) {
		return exact, true
	}
	st := f.stem()
	if i := slices.Index(f.words, "id"); i > 0 && i < len(f.words)-1 && slices.Contains(u.words, f.words[i-1]) {
		return u.kindOfWords(slices.Concat(f.words[:i], f.words[i+1:])), true // userid_from
	}
	if !f.numbers() || len(st) == 0 || !slices.Contains(u.words, st[len(st)-1]) || words.Has(f.words, words.Quantity) {
		return 0, false
	}
	return u.kindOfWords(st), true
}

// isCalled reports whether a column has the name of the unit's key, with or without the unit's word before it. A uid numbers users.
func (u *unit) isCalled(f *field) bool {
	if slices.Equal(f.words, u.column.words) && !general(f.words) {
		return true
	}
	if slices.Equal(f.words, []string{"uid"}) && !unique(f.of.Table, []string{f.Name}) {
		return slices.Contains(u.words, "user")
	}
	return slices.ContainsFunc(u.words, func(w string) bool { return slices.Equal(f.words, append([]string{w}, u.column.words...)) })
}

// kindOf returns the kind of a way by a foreign key. The key of a part is the key of its whole.
func (u *unit) kindOf(r *relation, w Way) kind {
	name := w.Unit
	if name == "" {
		name = w.Via[len(w.Via)-1]
	}
	f := r.field(name)
	partsKey := slices.Contains(u.held[r.Name], name) && slices.Contains(r.key(), name)
	if partsKey || slices.Equal(f.words, u.column.words) && !general(f.words) {
		return exact
	}
	return u.kindOfWords(f.stem())
}

// kindOfWords returns the kind by the words of a name without its identifier and the word for the unit.
func (u *unit) kindOfWords(st []string) kind {
	rest := slices.DeleteFunc(slices.Clone(st), func(w string) bool { return slices.Contains(u.words, w) || words.Is(w, words.Base) })
	all := func(groups ...string) bool {
		return !slices.ContainsFunc(rest, func(w string) bool { return !words.Is(w, groups...) })
	}
	some := func(groups ...string) bool {
		return slices.ContainsFunc(rest, func(w string) bool { return words.Is(w, groups...) })
	}
	switch {
	case len(rest) == 0:
		return exact
	case rest[len(rest)-1] == "by":
		return role
	case all(words.Pair):
		return paired
	case all(words.Owner) || all(words.Served):
		return owning
	case some(words.Role, words.Staff):
		return role
	}
	return unknown
}
