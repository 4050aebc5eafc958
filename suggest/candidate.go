package suggest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/suggest/words"
)

// A Candidate is a column that may identify whom to protect.
type Candidate struct {
	// Table has a row for each person, or, if there is no such table, names people by the column.
	Table  catalog.Name
	Column string
	// Leading is the number of tables that lead to the table, by foreign keys or by name.
	Leading int
	// rowless says that no table has a row for each person.
	rowless bool
	// part says that the key refers to another table of people, which says more about them.
	part bool
	people
	score float64
	// doubt says why the key may identify something other than the people of the table, or is "".
	doubt string
}

// candidates returns all columns that may identify whom to protect, the most likely first: people whom the database serves before staff,
// and a part after its whole.
func (c *catalogue) candidates() []Candidate {
	var all []Candidate
	for _, n := range c.names {
		if r := c.rels[n]; r.people.are() && r.people.class != celebrity && protectable(r.Table) == "" {
			all = append(all, c.candidatesIn(r)...)
		}
	}
	all = append(all, c.rowless()...)
	for i := range all {
		a := &all[i]
		a.Leading = len(c.leading(a))
		a.score = float64(min(a.points, mostPoints)) + 2*math.Log2(float64(1+a.Leading))
	}
	slices.SortFunc(all, func(a, b Candidate) int {
		return cmp.Or(compareBool(a.part, b.part), cmp.Compare(a.class, b.class), cmp.Compare(b.score, a.score),
			a.Table.Compare(b.Table), cmp.Compare(a.Column, b.Column))
	})
	return all
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// candidatesIn returns the columns of a table of people that can identify a person: its key, and, if the key may identify something else,
// columns that number people. For a table without a key it is the column with the name of the table.
func (c *catalogue) candidatesIn(r *relation) []Candidate {
	base := Candidate{Table: r.Name, people: r.people}
	var all []Candidate
	key := c.unitKey(r)
	if key == "" {
		if f := r.ownNumber(); f != nil {
			base.Column = f.Name
			if len(r.Keys) > 0 {
				base.doubt = "the key is (" + strings.Join(r.key(), ", ") + "): one " + f.Name + " may be several people's"
			}
			all = append(all, base)
		}
		return all
	}
	base.Column, base.part = key, c.isPart(r, key)
	if w := last(r.field(key).stem()); base.called == "" && words.Is(w, words.Served) { // profiles by userid
		base.class = served
	}
	base.doubt = c.doubtOfKey(r, r.field(key))
	all = append(all, base)
	if base.doubt == "" || r.people.called == "" {
		return all
	}
	for _, f := range r.fields {
		if f.Name != key && identifies(f.Column) && r.numbersPeople(f) {
			other := base
			other.Column, other.part, other.doubt = f.Name, false, "it is not the key of the table"
			all = append(all, other)
		}
	}
	return all
}

// unitKey returns the column that identifies a row and can identify a unit: the column with the most foreign keys to it, then the column
// that most tables name, the primary key first; "" if there is none. A mail address, a login or a phone number can identify a unit only if
// foreign keys refer to it or it is the primary key.
func (c *catalogue) unitKey(r *relation) string {
	best, mostKeys, mostNames := "", -1, -1
	for _, k := range r.Keys { // the primary key is the first
		if len(k.Columns) != 1 {
			continue
		}
		f := r.field(k.Columns[0])
		if f == nil || !f.NotNull || !identifies(f.Column) {
			continue
		}
		keys := c.keysTo(r, f.Name)
		if keys == 0 && !k.Primary && (f.isOf(words.Email) || f.isOf(words.Login) || f.isOf(words.Phone)) {
			continue
		}
		names := len(c.leading(&Candidate{Table: r.Name, Column: f.Name}))
		if keys > mostKeys || keys == mostKeys && names > mostNames {
			best, mostKeys, mostNames = f.Name, keys, names
		}
	}
	return best
}

// keysTo returns the number of foreign keys of other tables that refer to a column.
func (c *catalogue) keysTo(r *relation, column string) (n int) {
	for _, from := range c.referring[r.Name] {
		for _, fk := range from.foreign {
			if from != r && fk.References == r.Name && slices.Contains(fk.Target, column) {
				n++
			}
		}
	}
	return n
}

// ownNumber returns the identifier with the name of its table, or nil.
func (r *relation) ownNumber() *field {
	i := slices.IndexFunc(r.fields, func(f *field) bool {
		return f.numbers() && identifies(f.Column) && slices.Equal(f.stem(), []string{r.row()})
	})
	if i < 0 {
		return nil
	}
	return r.fields[i]
}

// isPart reports whether the key of a table refers to another table of people, whose key does not refer back.
func (c *catalogue) isPart(r *relation, key string) bool {
	refers := func(from *relation, column string, to catalog.Name) bool {
		return slices.ContainsFunc(from.foreign, func(fk catalog.ForeignKey) bool {
			return fk.References == to && slices.Equal(fk.Columns, []string{column})
		})
	}
	for _, fk := range r.foreign {
		whole := c.rels[fk.References]
		if whole == nil || whole == r || !slices.Equal(fk.Columns, []string{key}) {
			continue
		}
		if whole.people.are() && whole.people.class != celebrity && !refers(whole, fk.Target[0], r.Name) {
			return true
		}
	}
	return false
}

// doubtOfKey says why a key may identify something other than the people of its table; "" if there is no doubt.
func (c *catalogue) doubtOfKey(r *relation, key *field) string {
	if len(r.people.evidence) == 0 && words.Is(r.people.called, words.Ambiguous) {
		return fmt.Sprintf("no column tells that its %ss are people", r.people.called)
	}
	if w := words.Find(key.words, words.Occasion); w != "" {
		return fmt.Sprintf("its key is called after a %s, of which somebody can have several", w)
	}
	if r.people.called == "" && words.Is(r.row(), words.Occasion, words.Transaction) {
		return fmt.Sprintf("it is called %s, of which somebody can have several", r.row())
	}
	for _, w := range key.stem() {
		own := slices.ContainsFunc(r.words, func(of string) bool { return strings.HasPrefix(of, w) }) || c.isCalledAbove(r, key, w)
		if !own && !words.Is(w, words.Generic, words.PersonNumber, words.Served, words.Staff, words.Beside, words.Login, words.Email) {
			return "its key is called otherwise than the table"
		}
	}
	return ""
}

// isCalledAbove reports whether a key is named after a table to which it refers: a party, of which a person is a kind.
func (c *catalogue) isCalledAbove(r *relation, key *field, word string) bool {
	return slices.ContainsFunc(r.foreign, func(fk catalog.ForeignKey) bool {
		to := c.rels[fk.References]
		return to != nil && slices.Equal(fk.Columns, []string{key.Name}) && slices.Contains(to.words, word)
	})
}

// numbersPeople reports whether a column of a table of people numbers them.
func (r *relation) numbersPeople(f *field) bool {
	if words.Has(f.words, words.Occasion) {
		return false
	}
	if words.Has(f.words, words.PersonNumber) {
		return true
	}
	st := f.stem()
	return f.numbers() && len(st) > 0 && (st[len(st)-1] == r.row() || words.Is(st[len(st)-1], words.Served))
}

// rowless returns a candidate for each identifier of people served that is the key of no table. Its table is the first that names people by
// it, or a table that says more about them.
func (c *catalogue) rowless() []Candidate {
	found := map[string]*Candidate{}
	var order []string
	for _, n := range c.names {
		r := c.rels[n]
		if protectable(r.Table) != "" || r.people.called != "" && r.people.are() {
			continue
		}
		for _, f := range r.fields {
			word, ok := f.namesSomebody()
			if !ok || f.foreign || len(c.called[word]) > 0 || unique(r.Table, []string{f.Name}) {
				continue
			}
			key := strings.Join(f.words, " ")
			if found[key] == nil {
				found[key] = &Candidate{
					Table: n, Column: f.Name, rowless: true, people: people{class: served, called: word, points: calledPeople},
				}
				order = append(order, key)
			}
			was := found[key].points
			if found[key].evidenceOf(r, word); found[key].points > was && was == calledPeople {
				found[key].Table, found[key].Column = n, f.Name // it says more than the first
			}
		}
	}
	var all []Candidate
	for _, key := range order {
		all = append(all, *found[key])
	}
	return all
}

// namesSomebody returns the word for people served in the name of an identifier that has no other word.
func (f *field) namesSomebody() (word string, ok bool) {
	st := f.stem()
	if !f.numbers() || !identifies(f.Column) || len(st) != 1 || !words.Is(st[0], words.Served) {
		return "", false
	}
	return st[0], true
}

// evidenceOf adds the columns of a table that are named after the same people.
func (a *Candidate) evidenceOf(r *relation, word string) {
	for _, e := range evidence {
		for _, f := range r.fields {
			if slices.Contains(f.words, word) && f.isOf(e.group) && !slices.Contains(a.evidence, f.Name) {
				a.points += e.points
				a.evidence = append(a.evidence, f.Name)
				break
			}
		}
	}
}

// leading returns the tables that lead to a candidate, or to a part of its people, by foreign keys or by name.
func (c *catalogue) leading(a *Candidate) []catalog.Name {
	u := c.unitOf(a)
	var all []catalog.Name
	for _, n := range c.names {
		r := c.rels[n]
		if r.HasRows() && (n != a.Table || a.rowless) && len(u.persons(r)) > 0 {
			all = append(all, n)
		}
	}
	return all
}
