package suggest

import (
	"maps"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
	"dpproxy/suggest/words"
)

// A sorter decides about the tables without a way to the unit.
type sorter struct{ *Draft }

// sortOut decides about the tables without a way to the unit.
func (d sorter) sortOut() {
	for _, r := range d.unprotected() {
		switch {
		case r.Kind == 'v':
		case protectable(r.Table) != "":
			d.LeftOut[r.Name] = protectable(r.Table)
		case d.choices.Public[r.Name] && d.refersToPeople(r):
			d.LeftOut[r.Name] = "it refers to rows of people, so that it cannot be public"
		case d.choices.Public[r.Name]:
			d.Public = append(d.Public, r.Name)
		}
	}
	d.otherPeople()
	pathfinder(d).askWays()
	for again := true; again; again = d.theirs() {
		d.references()
	}
	d.doubt()
	if d.choices.AllClear {
		d.Public, d.Clear = append(d.Public, d.Clear...), nil
		slices.SortFunc(d.Public, catalog.Name.Compare)
	}
}

// refersToPeople reports whether a foreign key leads to a protected table: a policy cannot make such a table public.
func (d sorter) refersToPeople(r *relation) bool {
	return slices.ContainsFunc(r.foreign, func(fk catalog.ForeignKey) bool { return d.Table(fk.References) != nil })
}

// A doubt is the reason why a table is not proposed as public.
type doubt struct {
	reason, short string
	// byName says that the name of the table is the only reason.
	byName bool
}

// doubt asks about the tables that might lead to a person, and lists the others as clear. A table that refers to a doubtful table is
// doubtful too, so the remaining tables are examined again until none becomes doubtful.
func (d sorter) doubt() {
	open := slices.DeleteFunc(d.unprotected(), func(r *relation) bool { return !r.HasRows() || slices.Contains(d.Public, r.Name) })
	found := map[catalog.Name]doubt{}
	for _, r := range open {
		if why := d.doubtOf(r); why.reason != "" {
			found[r.Name] = why
		}
	}
	for again := true; again; {
		next := map[catalog.Name]doubt{}
		for _, r := range open {
			if _, doubtful := found[r.Name]; doubtful {
				continue
			}
			if why := d.doubtOfReference(r, found); why.reason != "" {
				next[r.Name] = why
			}
		}
		maps.Copy(found, next)
		again = len(next) > 0
	}
	for _, r := range open {
		if why, doubtful := found[r.Name]; doubtful {
			d.Asked = append(d.Asked, Question{Table: r.Name, Reason: why.reason, Short: why.short})
		} else {
			d.Clear = append(d.Clear, r.Name)
		}
	}
}

// doubtOf finds a doubt in a table itself.
func (d sorter) doubtOf(r *relation) doubt {
	var has []string
	for _, f := range r.fields {
		if d.doubtful(f) || r.isSetting(f) {
			has = append(has, f.Name)
		}
	}
	if has != nil {
		for i, name := range has {
			has[i] = oneLine(name)
		}
		return doubt{reason: "it has " + strings.Join(has, ", "), short: has[0]}
	}
	for i := range r.words {
		if w := r.words[i]; slices.Contains(d.unit.words, w) || i == len(r.words)-1 && r.people.called == w && r.people.class != celebrity {
			return doubt{reason: "its name has the word " + w, short: "its name"}
		}
	}
	if w := r.activity(); w != "" {
		return doubt{reason: "it is called " + w, short: "its name", byName: true}
	}
	return doubt{}
}

// doubtful reports whether a column might lead to a person.
func (d sorter) doubtful(f *field) bool {
	for _, e := range evidence {
		if e.group != words.Gender && f.isOf(e.group) {
			return true
		}
	}
	if f.isPerson() || f.fam == pgtype.TextFamily && !f.foreign && words.Has(f.words, words.BearerName) {
		return true
	}
	quantity := words.Has(f.words, words.Quantity) && f.fam != pgtype.TextFamily && f.fam != pgtype.UUIDFamily
	switch {
	case f.foreign, f.fam == pgtype.BoolFamily, f.times(), quantity:
		return false
	case f.fam == pgtype.EnumFamily, f.lists():
		return false
	case words.Has(f.words, words.Payload) && !f.numbers(), words.Has(f.words, words.Machine, words.AccountNumber, words.PersonNumber):
		return true
	case words.Has(f.words, words.SecretColumn) && !d.isOwn(f) && !d.resolves(f):
		return true
	case slices.ContainsFunc(f.words, func(w string) bool { return slices.Contains(d.unit.words, w) }):
		return true
	case f.numbers() && words.Is(last(f.stem()), words.Served, words.Staff, words.Beside) && !d.isOwn(f):
		return true
	case f.fam == d.unit.column.fam && identifies(f.Column) && !d.isOwn(f) && words.Is(last(f.stem()), words.Owner, words.Role),
		f.fam == d.unit.column.fam && f.numbers() && words.Is(last(f.stem()), words.Pair):
		return true
	}
	return d.leadsNowhere(f)
}

// isOwn reports whether a column is part of the key of its table, or refers to a row of the table.
func (sorter) isOwn(f *field) bool {
	st := f.stem()
	switch {
	case unique(f.of.Table, []string{f.Name}):
		return true
	case general(f.words) && last(f.words) != "uid" && !words.Is(last(f.words), words.SecretColumn):
		return true
	case len(st) == 0:
		return last(f.words) != "key"
	}
	return len(st) == 1 && (st[0] == "parent" || st[0] == f.of.row()) || slices.Equal(st, f.of.words)
}

// leadsNowhere reports whether a column identifies something that the catalogue does not name: neither its own row, nor a row of a table
// that could be public. A column that a table of people has too belongs to those people.
func (d sorter) leadsNowhere(f *field) bool {
	if !f.identifier() || d.isOwn(f) {
		return false
	}
	if slices.ContainsFunc(f.of.fields, func(o *field) bool { // type_x next to id_x
		return len(o.words) > 1 && last(o.words) == "type" && slices.Equal(o.words[:len(o.words)-1], f.stem())
	}) {
		return true
	}
	if slices.ContainsFunc(d.spelled[strings.Join(f.words, " ")], func(o *field) bool {
		return o.of.people.are() && o.of.people.class != celebrity && !o.foreign
	}) {
		return true
	}
	return !d.resolves(f)
}

// resolves reports whether the name of a column is that of the key of a table that is not doubtful by its place: neither protected, nor in
// question, nor left out.
func (d sorter) resolves(f *field) bool {
	st := f.stem()
	if len(st) == 0 {
		return false
	}
	for _, r := range d.called[last(st)] {
		_, out := d.LeftOut[r.Name]
		if key := r.key(); !out && d.Table(r.Name) == nil && d.question(r.Name) == nil && len(key) == 1 && r.field(key[0]).fam == f.fam {
			return true
		}
	}
	return false
}

// doubtOfReference names the doubtful or left-out table to which a table refers. A table that is doubtful only by its name does not count.
func (d sorter) doubtOfReference(r *relation, found map[catalog.Name]doubt) doubt {
	for _, fk := range r.foreign {
		n := fk.References
		if n == r.Name {
			continue
		}
		why, doubtful := found[n]
		_, out := d.LeftOut[n]
		switch {
		case d.isReference(n) && !d.ofSomebody(n):
		case doubtful && !why.byName:
			return doubt{reason: refer(n, "which is asked about"), short: fk.Columns[0]}
		case d.question(n) != nil:
			return doubt{reason: refer(n, "which is asked about"), short: fk.Columns[0]}
		case d.Table(n) != nil:
			return doubt{reason: refer(n, "which is protected"), short: fk.Columns[0]}
		case d.isReference(n):
			return doubt{reason: refer(n, "which is somebody's"), short: fk.Columns[0]}
		case out:
			return doubt{reason: refer(n, "which is left out"), short: fk.Columns[0]}
		}
	}
	for _, f := range r.fields {
		if f.foreign || !f.identifier() || d.isOwn(f) {
			continue
		}
		for _, to := range d.called[last(f.stem())] {
			if why, doubtful := found[to.Name]; doubtful && !why.byName {
				return doubt{reason: f.Name + " is called after " + shortName(to.Name) + ", which is asked about", short: f.Name}
			}
		}
	}
	return doubt{}
}

// ofSomebody reports whether a row of a reference table belongs to few people, such as a family, a card, a device or a booking. Tables that
// refer to such a row can be about these people; tables that refer to an address or a tenant are not.
func (d sorter) ofSomebody(n catalog.Name) bool {
	r := d.rels[n]
	return r.people.are() || d.unit.supers()[n] != "" || words.Is(r.row(), words.Family, words.Transaction, words.Session) ||
		words.Is(r.row(), words.PlaceOrThing) && !words.Is(r.row(), words.AddressLine) && r.row() != "location"
}
