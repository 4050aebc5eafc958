package suggest

import (
	"slices"

	"dpproxy/planner/pgtype"
	"dpproxy/suggest/words"
)

// otherPeople leaves out the tables of other people.
func (d sorter) otherPeople() {
	for _, r := range d.unprotected() {
		of := r.HasRows() && r.people.are() && r.people.class != celebrity && !r.ofOthers()
		if of && !d.decided(r.Name) && d.unit.supers()[r.Name] == "" {
			d.Others = append(d.Others, Outside{Table: r.Name, Why: "people of whom nothing is protected here: a policy has one unit"})
			d.LeftOut[r.Name] = ""
		}
	}
}

// ofOthers reports whether a table has columns that people have, while its name says that they belong to an address, a booking or a letter.
func (r *relation) ofOthers() bool {
	return r.people.called == "" && words.Is(r.row(), words.PlaceOrThing, words.Transaction, words.Writing)
}

// theirs leaves out the tables that belong to other people, unless protected rows refer to them. It reports whether there were any.
func (d sorter) theirs() bool {
	var found []Outside
	for _, r := range d.unprotected() {
		if whose := d.leadsToOthers(r); whose != "" && r.HasRows() && !d.decided(r.Name) && !d.isReferredTo(r) {
			found = append(found, Outside{Table: r.Name, Why: whose})
		}
	}
	for _, o := range found {
		d.Theirs = append(d.Theirs, o)
		d.LeftOut[o.Table] = ""
	}
	return len(found) > 0
}

// leadsToOthers says how a table leads to other people, or to their tables; "" if it does not.
func (d sorter) leadsToOthers(r *relation) string {
	for _, fk := range r.foreign {
		if fk.References != r.Name && d.isOthers(fk.References) {
			return refer(fk.References, "which is other people's")
		}
	}
	for _, f := range r.fields {
		if f.foreign || !f.numbers() {
			continue
		}
		for _, o := range d.Others {
			other := d.rels[o.Table]
			if st := f.stem(); len(st) > 0 && st[len(st)-1] == other.row() && !words.Has(f.words, words.Quantity) && other != r {
				return f.Name + " is called after " + shortName(o.Table) + ", which is other people's"
			}
		}
	}
	return ""
}

// references finds the tables to which protected rows or other references refer and whose rows belong to nobody in particular. Each table
// is examined again after others were found, until none is.
func (d sorter) references() {
	for again := true; again; {
		again = false
		var found []Outside
		for _, r := range d.unprotected() {
			if d.isReference(r.Name) || !r.HasRows() || d.choices.Public[r.Name] {
				continue
			}
			if why := d.whyReference(r); why != "" {
				found = append(found, Outside{Table: r.Name, Why: why})
			}
		}
		for _, o := range found {
			d.References = append(d.References, o)
			d.LeftOut[o.Table] = ""
			again = true
		}
	}
}

// whyReference says why a table is a reference; "" if it is not.
func (d sorter) whyReference(r *relation) string {
	switch {
	case d.choices.References[r.Name]:
		return "chosen"
	case d.unit.supers()[r.Name] != "":
		return "a " + d.UnitName + " is one kind of it"
	case !d.isReferredTo(r):
		return ""
	case d.outward(r.Name) && len(d.unit.persons(r)) > 0:
		return "a " + d.UnitName + " refers to it, and has a part in it"
	case d.outward(r.Name) && words.Is(r.row(), words.Tenant):
		return "a tenant"
	case d.outward(r.Name) && words.Is(r.row(), words.Family):
		return "a family"
	case words.Is(r.row(), words.PlaceOrThing):
		return "called " + r.row()
	case words.Is(r.row(), words.Transaction, words.Session) && !words.Is(r.words[0], words.LeadingLookup):
		return "called " + r.row() + ", as transactions are"
	case d.leadsToOthers(r) != "":
		return "it leads to other people"
	}
	for _, f := range r.fields {
		number := !f.foreign && !f.lists() && f.fam != pgtype.BoolFamily && words.Has(f.words, words.AccountNumber, words.Machine)
		if number || f.isOf(words.Street) || f.isOf(words.Email) {
			return "it has " + f.Name
		}
	}
	return ""
}

// isReferredTo reports whether protected rows or references refer to a table.
func (d sorter) isReferredTo(r *relation) bool {
	return slices.ContainsFunc(d.referring[r.Name], func(from *relation) bool {
		return d.Table(from.Name) != nil || d.isReference(from.Name)
	})
}
