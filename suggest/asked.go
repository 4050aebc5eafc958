package suggest

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/suggest/words"
)

// askSeveral asks to whom the rows of a table belong that name several people. Owners come first.
func (d pathfinder) askSeveral(r *relation, all []person) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b person) int { return int(a.kind) - int(b.kind) })
	q := Question{Table: r.Name, Several: true, Short: "several people"}
	var columns []string
	for _, p := range all {
		q.Ways = append(q.Ways, p.way)
		columns = append(columns, p.way.by())
		var beside []string
		for _, other := range all {
			if !slices.Equal(other.columns(), p.columns()) {
				beside = append(beside, other.columns()...)
			}
		}
		q.Beside = append(q.Beside, beside)
	}
	if len(all) == 1 {
		q.Reason = columns[0] + " is somebody's part in it"
	} else {
		q.Reason = "its rows are about several people, by " + list(columns)
	}
	d.ask(q)
}

func (d pathfinder) ask(q Question) {
	if d.choices.Public[q.Table] || d.choices.References[q.Table] { // the administrator has decided
		return
	}
	d.Asked = append(d.Asked, q)
}

// askRoles asks about tables that name people only by the part that these have in a row, and that nothing else protects.
func (d pathfinder) askRoles() {
	for _, r := range d.unprotected() {
		if all := d.unit.persons(r); len(all) > 0 && protectable(r.Table) == "" && !d.outward(r.Name) {
			d.askSeveral(r, all)
		}
	}
}

// askWays asks about tables that may lead to the unit: by a column that can be NULL and has another name than the key, by a name alone, or
// by a supertype.
func (d pathfinder) askWays() {
	for _, r := range d.unprotected() {
		if protectable(r.Table) != "" || d.outward(r.Name) {
			continue
		}
		for _, w := range d.everyWay(r) {
			q := Question{Table: r.Name, Ways: []Way{w}, Beside: [][]string{nil}}
			switch {
			case w.ByName:
				q.Reason = "by its name alone, " + w.by() + " is a row of " + shortName(w.To) + ": of one, or of many that share it?"
				q.Short = w.by()
			case d.superOf(w) != (catalog.Name{}):
				q.Reason = refer(d.superOf(w), "of which a "+d.UnitName+" is one kind: it may be of another")
				q.Short = w.by()
			case d.partOf(r, w):
				q.Reason, q.Short = w.by()+" is somebody's part in it", w.by()
			default:
				q.Reason, q.Short = w.by()+" may be NULL, and is called otherwise than the key of "+shortName(w.To), w.by()
			}
			d.ask(q)
			break
		}
	}
}

// besides sorts the columns of a protected table, other than its way, that refer to people or to their rows.
func (d pathfinder) besides(t *Table) {
	r := d.rels[t.Source.Name]
	for _, fk := range r.foreign {
		to := d.Table(fk.References)
		if to == nil || fk.Name == t.Key || d.sameUnit(t, fk, to) {
			continue
		}
		for _, c := range fk.Columns {
			if c == t.Unit || slices.Contains(t.Via, c) || slices.Contains(t.NotProtected, c) || slices.Contains(t.SamePerson, c) {
				continue
			}
			if d.othersRow(r, fk) {
				t.NotProtected = append(t.NotProtected, c)
			} else {
				t.SamePerson = append(t.SamePerson, c)
			}
		}
	}
	for _, p := range d.unit.persons(r) {
		if by := p.way.Unit; p.way.ByName && by != t.Unit && !slices.Contains(t.NotProtected, by) {
			t.NotProtected = append(t.NotProtected, by)
		}
	}
}

// othersRow reports whether a foreign key of a protected table refers to another person, or to a row that usually belongs to another
// person, such as the subject of a reaction.
func (d pathfinder) othersRow(r *relation, fk catalog.ForeignKey) bool {
	to := d.Table(fk.References)
	names := slices.ContainsFunc(d.unitNames(to), func(c string) bool { return slices.Contains(fk.Target, c) })
	if to.OnePerUnit || names { // a person, by another name
		return true
	}
	if d.namesPeople(r, fk) || fk.References == d.Unit.Table && r.Name == d.Unit.Table || d.byPart(r, fk) {
		return true
	}
	return words.Is(r.row(), words.Reaction) && words.Is(d.rels[fk.References].row(), words.Writing, words.Attachment, words.Reaction)
}

// byPart reports whether a foreign key leads to a table of people by their part in a row, such as who created it.
func (d pathfinder) byPart(r *relation, fk catalog.ForeignKey) bool {
	to := d.rels[fk.References]
	if !to.people.are() || len(fk.Columns) != 1 {
		return false
	}
	f := r.field(fk.Columns[0])
	return !slices.Contains(r.key(), f.Name) && !f.calls(to, to.field(fk.Target[0])) &&
		words.Has(f.words, words.Role, words.Owner, words.Pair, words.Staff)
}

// partOf reports whether a way is by the part that a person has in a row.
func (d pathfinder) partOf(r *relation, w Way) bool {
	return slices.ContainsFunc(r.foreign, func(fk catalog.ForeignKey) bool { return fk.Name == w.Key && d.byPart(r, fk) })
}

// sameUnit reports whether a row and the row to which its foreign key refers belong to the same unit: they agree in columns that hold the
// unit, or the foreign key is the way of the table.
func (d pathfinder) sameUnit(t *Table, fk catalog.ForeignKey, to *Table) bool {
	own, its := d.unitNames(t), d.unitNames(to)
	for i, c := range fk.Columns {
		if slices.Contains(own, c) && slices.Contains(its, fk.Target[i]) {
			return true
		}
	}
	along := t.To == fk.References && t.Unit == ""
	for i, c := range t.Via {
		j := slices.Index(fk.Columns, c)
		along = along && j >= 0 && fk.Target[j] == t.At[i]
	}
	return along
}

// unitNames returns the columns of a table that hold the identifier of the unit.
func (d pathfinder) unitNames(t *Table) []string {
	if t.Unit != "" {
		return []string{t.Unit}
	}
	var names []string
	its := d.unitNames(d.Table(t.To))
	for i, c := range t.Via {
		if slices.Contains(its, t.At[i]) {
			names = append(names, c)
		}
	}
	return names
}
