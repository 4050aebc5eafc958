package suggest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// A Draft is a policy, as far as the catalogue and the choices determine it.
type Draft struct {
	*catalogue
	choices *Choices
	unit    *unit
	// Unit is whom the policy protects, and UnitName the word for one unit.
	Unit     Candidate
	UnitName string
	// Tables are the protected tables, beginning with the tables nearest to the unit.
	Tables []*Table
	placed map[catalog.Name]*Table
	// Views are over protected tables; Public tables are readable by everybody.
	Views, Public []catalog.Name
	// References are tables to which protected rows refer and whose rows belong to nobody in particular. Their columns are listed.
	References []Outside
	// Others are tables of other people, and Theirs tables that are keyed by other people.
	Others, Theirs []Outside
	// Clear are the tables that could be public without doubt.
	Clear []catalog.Name
	// Asked are the tables that are left out of the policy until an administrator decides.
	Asked []Question
	// dates are the days of most columns of dates, and undated the number of columns without known days.
	dates   span
	undated int
	// LeftOut are all other relations that are not in the policy, each with the reason.
	LeftOut map[catalog.Name]string
}

// An Outside is a table that is not protected, with the reason.
type Outside struct {
	Table catalog.Name
	Why   string
	// As, if not nil, describes a reference table: no way leads from its rows.
	As *Table
}

// A Table is a protected table of a draft.
type Table struct {
	Source *catalog.Table
	// Way leads to the unit.
	Way
	// Distance is the number of steps from the table to the unit's table.
	Distance int
	// NotProtected are columns that refer to other people, or to their rows.
	NotProtected []string
	// Refers are columns that refer by their name alone to a row of a reference table, or to a protected row of the same unit. SamePerson
	// includes the second kind.
	Refers []ByName
	// SamePerson are columns that refer to rows that are assumed to belong to the same unit as the row. No guarantee rests on it.
	SamePerson []string
	// OnePerUnit says that keys prove that each unit has at most one row.
	OnePerUnit bool
	Columns    []Column
}

// A ByName is a column that is named after a table, without a foreign key to it.
type ByName struct {
	Column string
	To     catalog.Name
}

// A Column is an entry in the columns of a table.
type Column struct {
	Source *catalog.Column
	// Policy is the entry in the file, such as {values: enum} or hidden, and Note a comment after it.
	Policy, Note string
	// kind is the heading of a hidden column in the summary.
	kind string
	// timed says that the column has dates or timestamps. days are the days that constraints give; undated says that there are none, and
	// that the column is no exception to a default.
	timed, undated bool
	days           span
}

// A Way is how a row leads to its unit: by a column of its own, or by columns that refer to a key of another table.
type Way struct {
	Key  string // the name of the foreign key; "" in the unit's table, and for a way by name
	Unit string
	Via  []string
	To   catalog.Name
	At   []string
	// ByName says that only a name suggests the way.
	ByName bool
}

// A Question is a table about which an administrator must decide.
type Question struct {
	Table catalog.Name
	// Reason says why it is doubtful, and Short says it in a word or two.
	Reason, Short string
	// Ways are the possible ways, the most likely first, and Beside has for each way the columns that then refer to others. A table without
	// possible ways could be public.
	Ways   []Way
	Beside [][]string
	// Several says that its rows are about several people.
	Several bool
}

// ErrNoUnit says that no table is about people.
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

// unprotected returns the tables about which nothing is decided yet, in order.
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

// refer writes that a row refers to another table, and what that table is.
func refer(n catalog.Name, what string) string {
	return fmt.Sprintf("refers to %s, %s", shortName(n), what)
}

// outward reports whether the unit's table refers to a table, directly or not: a department, a class, a family. A department does not
// belong to its head, nor do the tables to which it refers, unless they have an owner.
func (d *Draft) outward(n catalog.Name) bool { return d.unit.outward()[n] }

// decided reports whether the administrator has made a table public, or a reference.
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

// columns returns the columns by which a way leaves its table.
func (w Way) columns() []string {
	if w.Unit != "" {
		return []string{w.Unit}
	}
	return w.Via
}

// by writes the columns of a way, as they are chosen by name.
func (w Way) by() string { return strings.Join(w.columns(), ", ") }
