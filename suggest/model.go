package suggest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// A Draft is a policy as far as the catalogue and the choices tell it.
type Draft struct {
	*catalogue
	choices *Choices
	unit    *unit
	// Unit is whom the policy protects, UnitName the word for one.
	Unit     Candidate
	UnitName string
	// Tables are the protected ones, those that are nearest to the unit first.
	Tables []*Table
	placed map[catalog.Name]*Table
	// Views are over protected tables, Public tables are for everybody to read.
	Views, Public []catalog.Name
	// References are tables that protected rows refer to, and whose rows are nobody's in particular. They have columns.
	References []Outside
	// Others are tables of other people, and Theirs those that are keyed by them.
	Others, Theirs []Outside
	// Clear are the tables that could be public without a doubt.
	Clear []catalog.Name
	// Asked are the tables that are out of the policy until somebody has decided.
	Asked []Question
	// dates are the days of most columns of dates, and undated how many have none.
	dates   span
	undated int
	// LeftOut are the other relations that are in no policy, each with the reason.
	LeftOut map[catalog.Name]string
}

// An Outside is a table beside those of the policy, with the reason.
type Outside struct {
	Table catalog.Name
	Why   string
	// As is a reference table: no way leads from its rows.
	As *Table
}

// A Table is a protected table of a draft.
type Table struct {
	Source *catalog.Table
	// Way leads to the unit.
	Way
	// Distance is how many tables lie between, with this one.
	Distance int
	// NotProtected are columns that refer to other people, or to their rows.
	NotProtected []string
	// Refers are columns that refer to a row of a reference table, or to a protected row of the same unit, by their name alone, each with
	// the table. SamePerson has the second kind as well.
	Refers []ByName
	// SamePerson are columns that refer to rows which are assumed to be of the same unit as the row is. Nothing rests on it.
	SamePerson []string
	// OnePerUnit says that keys prove one row for each unit.
	OnePerUnit bool
	Columns    []Column
}

// A ByName is a column that is called after a table, to whose key no foreign key says that it refers.
type ByName struct {
	Column string
	To     catalog.Name
}

// A Column is an entry of a table's columns.
type Column struct {
	Source *catalog.Column
	// Policy is the entry in the file, such as {values: enum} or hidden, and Note a comment behind it.
	Policy, Note string
	// kind is the heading of a hidden column in the summary.
	kind string
	// timed says that it has dates or points in time; days are those that constraints say, and undated says that nothing does, and that
	// they are as those of others.
	timed, undated bool
	days           span
}

// A Way is how a row reaches its unit: by a column of its own, or by columns that refer to a key of another table.
type Way struct {
	Key  string // the foreign key's name; "" in the table of the units, and of a way by name
	Unit string
	Via  []string
	To   catalog.Name
	At   []string
	// ByName says that the name alone tells it.
	ByName bool
}

// A Question is a table that somebody must decide about.
type Question struct {
	Table catalog.Name
	// Reason says why it is doubtful, and Short the same in a word or two.
	Reason, Short string
	// Ways are those that it could have, the likeliest first, each with the columns that refer to others then. Without any it could be
	// public.
	Ways   []Way
	Beside [][]string
	// Several says that its rows are about several people.
	Several bool
}

// ErrNoUnit says that there are no people.
var ErrNoUnit = errors.New("no table is one of people, and no column numbers any: nobody is there to be protected. " +
	"If it is about people, say --unit=TABLE or --unit=TABLE.COLUMN")

// Table returns the protected table of that name, or nil.
func (d *Draft) Table(n catalog.Name) *Table { return d.placed[n] }

func (d *Draft) question(n catalog.Name) *Question {
	i := slices.IndexFunc(d.Asked, func(q Question) bool { return q.Table == n })
	if i < 0 {
		return nil
	}
	return &d.Asked[i]
}

// unprotected are the tables that nothing is decided about yet, in order.
func (d *Draft) unprotected() []*relation {
	var all []*relation
	for _, n := range d.names {
		_, out := d.LeftOut[n]
		if !out && d.Table(n) == nil && d.question(n) == nil {
			all = append(all, d.rels[n])
		}
	}
	return all
}

// refer writes why a row of one table is of another, for people.
func refer(n catalog.Name, what string) string {
	return fmt.Sprintf("refers to %s, %s", shortName(n), what)
}

// outward reports whether the unit's table refers to a table: a department, a class, a family. A department is not its head's. Nor
// are the tables behind it, unless it has an owner.
func (d *Draft) outward(n catalog.Name) bool { return d.unit.outward()[n] }

// decided reports whether somebody has made a table public, or a reference.
func (d *Draft) decided(n catalog.Name) bool { return d.choices.Public[n] || d.choices.References[n] }

func (d *Draft) isOthers(n catalog.Name) bool {
	is := func(o Outside) bool { return o.Table == n }
	return slices.ContainsFunc(d.Others, is) || slices.ContainsFunc(d.Theirs, is)
}

func (d *Draft) isReference(n catalog.Name) bool {
	return slices.ContainsFunc(d.References, func(o Outside) bool { return o.Table == n })
}

func (d *Draft) isOtherPeople(n catalog.Name) bool {
	return slices.ContainsFunc(d.Others, func(o Outside) bool { return o.Table == n })
}

// columns are those by which a way leaves its table.
func (w Way) columns() []string {
	if w.Unit != "" {
		return []string{w.Unit}
	}
	return w.Via
}

// by writes the columns of a way, as somebody chooses it.
func (w Way) by() string { return strings.Join(w.columns(), ", ") }
