package suggest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// A Draft is a policy as far as the catalogue and the choices tell it.
type Draft struct {
	survey  *introspect.Survey
	choices *Choices
	// Unit is the table of the units, UnitName the word for one.
	Unit     Candidate
	UnitName string
	// Tables are the protected ones, those that are nearest to the unit first.
	Tables []*Table
	// Views are over protected tables, Public tables are for everybody to read.
	Views, Public []catalog.Name
	// Unrelated are tables without a way to the unit, that could be public.
	Unrelated []catalog.Name
	// Ambiguous are tables whose rows may be about two units, and out of the policy until somebody has chosen.
	Ambiguous []Ambiguity
	// LeftOut are the other relations that are in no policy, each with the reason.
	LeftOut map[catalog.Name]string
}

// A Table is a protected table of a draft.
type Table struct {
	Source *catalog.Table
	// Way leads to the unit.
	Way
	// Distance is how many tables lie between, with this one.
	Distance int
	// NotProtected are columns that refer to other people.
	NotProtected []string
	// OnePerUnit says that keys prove one row for each unit.
	OnePerUnit bool
	Columns    []Column
}

// A Way is how a row reaches its unit: by a column of its own, or by columns that refer to a key of another table.
type Way struct {
	Key  string // the foreign key's name; "" in the table of the units
	Unit string
	Via  []string
	To   catalog.Name
	At   []string
}

// An Ambiguity is a table with several ways to a unit.
type Ambiguity struct {
	Table catalog.Name
	Ways  []Way
	// Columns are those of the ways' foreign keys, in the same order.
	Columns [][]string
}

// ErrNoUnit says that no table can be the unit's.
var ErrNoUnit = errors.New("no table has a key of one integer, text or uuid column that could identify whom a row belongs to")

// New makes a draft of the choices.
func New(s *introspect.Survey, ch *Choices) (*Draft, error) {
	all := Candidates(s)
	if len(all) == 0 {
		return nil, ErrNoUnit
	}
	unit := all[0]
	if ch.Unit != (catalog.Name{}) {
		i := slices.IndexFunc(all, func(c Candidate) bool { return c.Table == ch.Unit })
		if i < 0 {
			return nil, fmt.Errorf("%v cannot be the unit's table: it needs a key of one integer, text or uuid column", ch.Unit)
		}
		unit = all[i]
	}
	d := &Draft{
		survey: s, choices: ch, Unit: unit, UnitName: cmp.Or(ch.UnitName, unitName(unit.Table.Name)), LeftOut: maps.Clone(ch.Dropped),
	}
	d.protect()
	d.others()
	for _, t := range d.Tables {
		d.columns(t)
	}
	return d, nil
}

// names are those of the relations of the catalogue, in order.
func (d *Draft) names() []catalog.Name {
	return slices.SortedFunc(maps.Keys(d.survey.Tables), catalog.Name.Compare)
}

// Table returns the protected table of that name, or nil.
func (d *Draft) Table(n catalog.Name) *Table {
	i := slices.IndexFunc(d.Tables, func(t *Table) bool { return t.Source.Name == n })
	if i < 0 {
		return nil
	}
	return d.Tables[i]
}

// protect finds the tables that lead to the unit. One that leads there by two ways is left out,
// and with it the tables that lead there by it alone.
func (d *Draft) protect() {
	for {
		d.Tables = nil
		d.place(&Table{Source: d.survey.Tables[d.Unit.Table], Way: Way{Unit: d.Unit.Column}})
		for distance := 1; d.placeAt(distance); distance++ {
		}
		two := d.withSecondWays()
		if len(two) == 0 {
			return
		}
		for _, a := range two {
			d.Ambiguous = append(d.Ambiguous, a)
			d.LeftOut[a.Table] = ""
		}
	}
}

func (d *Draft) place(t *Table) {
	t.OnePerUnit = d.onePerUnit(t)
	d.Tables = append(d.Tables, t)
}

// placeAt adds the tables that refer to those that are placed, and reports whether there are any.
func (d *Draft) placeAt(distance int) bool {
	var found []*Table
	for _, n := range d.names() {
		t := d.survey.Tables[n]
		_, out := d.LeftOut[n]
		if out || d.Table(n) != nil || protectable(t) != "" {
			continue
		}
		if ways := d.ways(t); len(ways) > 0 {
			found = append(found, &Table{Source: t, Way: ways[0], Distance: distance})
		}
	}
	for _, t := range found {
		d.place(t)
	}
	return len(found) > 0
}

// ways are those of a table to the ones that are placed, the best first: the one that was chosen, by a column that
// is the unit, by columns without NULL.
func (d *Draft) ways(t *catalog.Table) []Way {
	var all []Way
	for _, fk := range foreignKeys(t) {
		if to := d.Table(fk.References); to != nil && to.Source != t {
			if w, ok := wayBy(t, fk, to); ok {
				all = append(all, w)
			}
		}
	}
	rank := func(w Way) (n int) {
		if w.Key == d.choices.Ways[t.Name] {
			n -= 4
		}
		if w.Unit == "" {
			n += 2
		}
		path := append(slices.Clip(w.Via), w.Unit)
		if slices.ContainsFunc(path, func(name string) bool { c, ok := t.Column(name); return ok && !c.NotNull }) {
			n++
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b Way) int { return rank(a) - rank(b) })
	return all
}

// wayBy is the way by a foreign key to a placed table. A column that refers to the unit's own column there is the unit's.
func wayBy(t *catalog.Table, fk catalog.ForeignKey, to *Table) (Way, bool) {
	for i, target := range fk.Target {
		c, ok := t.Column(fk.Columns[i])
		if ok && target == to.Unit && identifies(c) {
			return Way{Key: fk.Name, Unit: c.Name}, true
		}
	}
	if !isKey(to.Source, fk.Target) {
		return Way{}, false
	}
	return Way{Key: fk.Name, Via: fk.Columns, To: fk.References, At: fk.Target}, true
}

// isKey reports whether the columns are those of a key without NULL.
func isKey(t *catalog.Table, columns []string) bool {
	for _, name := range columns {
		if c, ok := t.Column(name); !ok || !c.NotNull {
			return false
		}
	}
	return unique(t, columns)
}

// unique reports whether the columns hold all those of a key, NULL aside.
func unique(t *catalog.Table, columns []string) bool {
	return slices.ContainsFunc(t.Keys, func(k catalog.Key) bool {
		return !slices.ContainsFunc(k.Columns, func(c string) bool { return !slices.Contains(columns, c) })
	})
}

// onePerUnit reports whether keys prove that a unit has one row at most.
func (d *Draft) onePerUnit(t *Table) bool {
	if t.Unit != "" {
		return unique(t.Source, []string{t.Unit})
	}
	return unique(t.Source, t.Via) && d.Table(t.To).OnePerUnit
}

// withSecondWays are the tables whose rows have another foreign key to somebody. In the table of the units it
// is hidden, where others are left to be asked about.
func (d *Draft) withSecondWays() []Ambiguity {
	var all []Ambiguity
	for _, t := range d.Tables {
		t.NotProtected = nil
		second := d.secondWays(t)
		_, chosen := d.choices.Ways[t.Source.Name]
		if len(second) > 0 && !chosen && t.Distance > 0 {
			all = append(all, d.ambiguity(t, second))
			continue
		}
		for _, fk := range second {
			for _, c := range fk.Columns {
				if c != t.Unit && !slices.Contains(t.NotProtected, c) {
					t.NotProtected = append(t.NotProtected, c)
				}
			}
		}
	}
	return all
}

// secondWays are the foreign keys of a table to people that are not along its way.
func (d *Draft) secondWays(t *Table) []catalog.ForeignKey {
	var all []catalog.ForeignKey
	for _, fk := range foreignKeys(t.Source) {
		to := d.Table(fk.References)
		left := slices.ContainsFunc(d.Ambiguous, func(a Ambiguity) bool { return a.Table == fk.References })
		if (to != nil || left) && fk.Name != t.Key && (to == nil || !d.sameUnit(t, fk, to)) {
			all = append(all, fk)
		}
	}
	return all
}

// sameUnit reports whether the row that a foreign key refers to is of the unit of the row that refers to it: they agree in
// columns that hold the unit, or it is the row that the way leads to.
func (d *Draft) sameUnit(t *Table, fk catalog.ForeignKey, to *Table) bool {
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

// unitNames are the columns of a table that hold the unit's identifier.
func (d *Draft) unitNames(t *Table) []string {
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

func (d *Draft) ambiguity(t *Table, second []catalog.ForeignKey) Ambiguity {
	a := Ambiguity{Table: t.Source.Name}
	for _, w := range d.ways(t.Source) {
		i := slices.IndexFunc(foreignKeys(t.Source), func(fk catalog.ForeignKey) bool { return fk.Name == w.Key })
		a.Ways, a.Columns = append(a.Ways, w), append(a.Columns, foreignKeys(t.Source)[i].Columns)
	}
	for _, fk := range second { // one to a table that is left out itself
		if !slices.ContainsFunc(a.Ways, func(w Way) bool { return w.Key == fk.Name }) {
			a.Columns = append(a.Columns, fk.Columns)
		}
	}
	return a
}

// others sorts out the relations that have no way to the unit.
func (d *Draft) others() {
	for _, n := range d.names() {
		t := d.survey.Tables[n]
		_, out := d.LeftOut[n]
		switch {
		case out, d.Table(n) != nil, t.Kind == 'v':
		case protectable(t) != "":
			d.LeftOut[n] = protectable(t)
		case d.refersToPeople(t):
			d.LeftOut[n] = "refers to a table that is left out"
		case d.choices.Public[n]:
			d.Public = append(d.Public, n)
		default:
			d.Unrelated = append(d.Unrelated, n)
		}
	}
	d.views()
}

// refersToPeople reports whether the rows of a table depend on those of somebody.
func (d *Draft) refersToPeople(t *catalog.Table) bool {
	return slices.ContainsFunc(foreignKeys(t), func(fk catalog.ForeignKey) bool {
		_, out := d.LeftOut[fk.References]
		return fk.References != t.Name && (out || d.Table(fk.References) != nil)
	})
}

// views takes the views over protected tables of which all is in the policy. They may read one another.
func (d *Draft) views() {
	for again := true; again; {
		again = false
		for _, n := range d.names() {
			if t := d.survey.Tables[n]; t.View != "" && !slices.Contains(d.Views, n) && d.viewable(t) {
				d.Views, again = append(d.Views, n), true
			}
		}
	}
	for _, n := range d.names() {
		_, out := d.LeftOut[n]
		if t := d.survey.Tables[n]; t.Kind == 'v' && !out && !slices.Contains(d.Views, n) {
			d.LeftOut[n] = "a view that reads " + d.foreign(t)
		}
	}
}

// viewable reports whether all that a view reads is in the policy, and something of it protected.
func (d *Draft) viewable(v *catalog.Table) bool {
	if _, out := d.LeftOut[v.Name]; out || strings.ContainsAny(v.Name.Schema+v.Name.Name, `."`) {
		return false
	}
	protected := false
	for _, n := range v.Reads {
		inside := d.Table(n) != nil || slices.Contains(d.Views, n)
		if !inside && !slices.Contains(d.Public, n) {
			return false
		}
		protected = protected || inside
	}
	return protected
}

// foreign names a relation that a view reads and the policy lacks.
func (d *Draft) foreign(v *catalog.Table) string {
	for _, n := range v.Reads {
		if d.Table(n) == nil && !slices.Contains(d.Views, n) && !slices.Contains(d.Public, n) {
			return shortName(n) + ", which is not in the policy"
		}
	}
	return "nothing protected"
}

// shortName leaves the schema public out.
func shortName(n catalog.Name) string {
	if n.Schema == "public" {
		return n.Name
	}
	return n.String()
}
