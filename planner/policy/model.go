package policy

import (
	"maps"
	"math/big"
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
)

// A Model is a policy with the proofs of the real database's catalogue. It is made by
// [Check] and immutable, as are its tables.
type Model struct {
	unit   string
	units  int64
	tables map[catalog.Name]*Table
	byName map[string]*Table // by unqualified name, protected tables first
	// views are as analysts see them: without the columns that show a hidden one.
	views map[catalog.Name]*catalog.Table
	// timeZones are the names that the protected database accepts.
	timeZones map[string]bool
	// before14 says that the protected database is a Postgres before 14.
	before14 bool
	// withheld are the columns of views that show hidden ones.
	withheld map[catalog.Name][]string
	// joinRows are those that joins take, and groupRows those that count in groups below a block.
	joinRows, groupRows int64
	// publicRows are the sizes of public tables.
	publicRows map[catalog.Name]int64
	// publicRepeats are how often public tables have one value of a column.
	publicRepeats map[catalog.Name]map[string]int64
}

// A Table is a table of the policy with the proofs about it.
type Table struct {
	Name    catalog.Name
	Public  bool
	Columns []Column
	// Reference says that the rows are nobody's in particular, and are looked up.
	Reference bool
	// Lookups lead to rows of reference tables.
	Lookups []Step
	// Unit is the path from a row to its privacy unit.
	Unit Path
	// Counting says how rows without a unit count; nil if they are left out, or if there are none.
	Counting *Counting
	// Bounded are the expressions over columns that have bounds of their own.
	Bounded []*scalar.Bounded
	// Implied are those of which constraints say more than the bounds of their columns do.
	Implied []*scalar.Bounded
	// References lead to rows of the same unit, as is assumed, beside the way.
	References    []Reference
	MaxRows       int64
	MaxPartitions int64
	AutoRows      int64
	Source        *catalog.Table
	// sorted are the indexes that plans may rely on.
	sorted []catalog.Index
	// identifiers are the columns by which rows are told to be a unit's.
	identifiers map[string]bool
	// promises are the references that the policy states.
	promises []Step
	// Dates are the bounds of columns of dates that say nothing else, or nil.
	Dates *Dates
}

// ofPeople reports whether rows of the table belong to privacy units.
func ofPeople(t *Table) bool { return !t.Public && !t.Reference }

// A Column is a column with its policy.
type Column struct {
	catalog.Column
	// Hidden columns do not exist for a statement.
	Hidden bool
	Bounds *Bounds
	// ByDefault says that the bounds are those of the table's default for dates.
	ByDefault bool
	// Follows is the column whose bounds these are, since a foreign key refers to it; it is empty of others.
	Follows string
	Values  []string // public values; nil if it has none
	// Labels are those of the column's enum; nil if it is none.
	Labels []string
	// Only says that the database's own constraints admit no other values than those, NULL aside, and Within that they admit none beyond
	// the bounds. They decide which remarks an answer has. No bound of a contribution, and no key, rests on them.
	Only, Within bool
	// Step is the step that values are summed in: of numeric values a power of ten, of floating-point
	// ones a power of two; nil if the policy states none.
	Step *big.Rat
	// Fields are those of a column of documents.
	Fields []Field
	// Among is the key of a public table that has every value of the column but NULL, since a foreign key says so; nil without.
	Among *PublicKey
	// Brief says that the table is public and that no text of the column is longer than [BriefText] bytes, on the mirror.
	Brief bool
}

// BriefText is the length of texts of public tables up to which they are read by themselves, and no more of them.
const BriefText = 255

// A Path leads from a row of a table to its unit: along steps of foreign keys to
// a table that has the unit's own column.
type Path struct {
	Steps  []Step
	Column string // of the last table
	OID    uint32 // type of the unit's identifier
}

// A Step joins one more table: the columns of its key equal those of the previous table, one by one.
type Step struct {
	From []string
	To   *Table
	Key  []string
}

// Table returns a table of the policy, or nil.
func (m *Model) Table(n catalog.Name) *Table { return m.tables[n] }

// TimeZones returns the names of time zones that the protected database accepts, in lower case.
func (m *Model) TimeZones() map[string]bool { return m.timeZones }

// Before14 reports whether the protected database is a Postgres before 14.
func (m *Model) Before14() bool { return m.before14 }

// PublicRows returns the sizes of public tables; one that is not in it may have any.
func (m *Model) PublicRows() map[catalog.Name]int64 { return m.publicRows }

// PublicRepeats returns the most rows of a public table that have one value of a column, if that
// is known.
func (m *Model) PublicRepeats(table catalog.Name, column string) (n int64, known bool) {
	n, known = m.publicRepeats[table][column]
	return n, known
}

// JoinRows bounds the rows of one unit that a join takes of a table whose MaxRows is undeclared.
func (m *Model) JoinRows() int64 { return m.joinRows }

// GroupRows bounds the rows of one unit that count in a group of such a table, likewise.
func (m *Model) GroupRows() int64 { return m.groupRows }

// WithJoinRows is the model where joins take another number of rows.
func (m *Model) WithJoinRows(n int64) *Model {
	other := *m
	other.joinRows = n
	return &other
}

// Unit returns the name of the privacy unit.
func (m *Model) Unit() string { return m.unit }

// Units returns about how many privacy units there are, as everybody may know; 0 is unsaid.
func (m *Model) Units() int64 { return m.units }

// Protected returns the names of the protected tables, sorted.
func (m *Model) Protected() []catalog.Name {
	var names []catalog.Name
	for n, t := range m.tables {
		if !t.Public {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, catalog.Name.Compare)
	return names
}

// Public returns the names of the public tables, sorted.
func (m *Model) Public() []catalog.Name {
	var names []catalog.Name
	for n, t := range m.tables {
		if t.Public {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, catalog.Name.Compare)
	return names
}

// Relations returns the names of all tables and views of the policy, sorted.
func (m *Model) Relations() []catalog.Name {
	names := slices.Concat(m.Protected(), m.Public(), slices.Collect(maps.Keys(m.views)))
	slices.SortFunc(names, catalog.Name.Compare)
	return names
}

// Source returns a table or view as the real database's catalogue has it.
func (m *Model) Source(n catalog.Name) *catalog.Table {
	if t := m.tables[n]; t != nil {
		return t.Source
	}
	return m.views[n]
}

// Relation returns the relation that a name in a statement means, as [ast.Names] say.
func (m *Model) Relation(schema, name string) (ast.Relation, bool) {
	t := m.tables[catalog.Name{Schema: schema, Name: name}]
	if schema == "" {
		t = m.byName[name]
	}
	if t == nil {
		return m.view(schema, name)
	}
	r := ast.Relation{
		Schema: t.Name.Schema, Name: t.Name.Name, Protected: !t.Public, Reference: t.Reference, Derived: t.Public && !t.Source.HasRows(),
	}
	for i := range t.Columns {
		if !t.Columns[i].Hidden {
			r.Columns = append(r.Columns, t.Columns[i].Name)
		}
	}
	return r, true
}

// Tells reports whether a column that analysts can name tells a row of the table: no two rows have the same value, and none has NULL.
func (t *Table) Tells(column string) bool {
	return t.Source.KeysHold() && !t.Hides(column) && hasKey(t.Source, []string{column})
}

// Finds reports whether the row of another table that has the value of a column in its key is always there.
func (t *Table) Finds(column string, in catalog.Name, key string) bool {
	return slices.ContainsFunc(t.Source.Foreign, func(fk catalog.ForeignKey) bool {
		return t.always(fk) && fk.Columns[0] == column && fk.References == in && fk.Target[0] == key
	})
}

// always reports whether a foreign key of one column refers to a row from each row. None does where the units of both are compared as well.
func (t *Table) always(fk catalog.ForeignKey) bool {
	if !t.Source.KeysHold() || len(fk.Columns) != 1 || t.Hides(fk.Columns[0]) || comparesUnits(t, fk) {
		return false
	}
	c, ok := t.Source.Column(fk.Columns[0])
	return ok && c.NotNull
}

// view returns a view of the policy.
func (m *Model) view(schema, name string) (ast.Relation, bool) {
	for n, v := range m.views {
		if n.Name != name || schema != "" && n.Schema != schema {
			continue
		}
		r := ast.Relation{Schema: n.Schema, Name: n.Name, View: v.View, Concealed: m.Conceals(n)}
		for _, col := range v.Columns {
			r.Columns = append(r.Columns, col.Name)
		}
		return r, true
	}
	return ast.Relation{}, false
}

// Whole returns the table of the policy that a partition belongs to, or the table itself.
func (m *Model) Whole(t *Table) *Table {
	for _, up := range t.Source.Parents {
		if parent := m.tables[up]; parent != nil && !parent.Public {
			return m.Whole(parent)
		}
	}
	return t
}

// SQL writes the qualified name of the table.
func (t *Table) SQL() string {
	return ast.QuoteIdent(t.Name.Schema) + "." + ast.QuoteIdent(t.Name.Name)
}

// Identifies reports whether rows are told to be a unit's by the column of that name.
func (t *Table) Identifies(column string) bool { return t.identifiers[column] }
