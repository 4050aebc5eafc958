package policy

import (
	"cmp"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// A TableDescription is the policy of a protected table as analysts may know it.
type TableDescription struct {
	Name catalog.Name
	// Unit is how a row reaches its privacy unit, e.g. "id" or "visit_id -> visits -> id"; of a reference table, by which rows it is
	// looked up, e.g. "looked up by patients.address_id".
	// A column that the policy hides is written as an ellipsis.
	Unit string
	// MaxRows and MaxPartitions are numbers of the policy. Without a number of rows a limit is
	// chosen, of at most what AutoRows rows in each group need. 0 is undeclared.
	MaxRows, MaxPartitions, AutoRows int64
	Columns                          []ColumnDescription
}

// A ColumnDescription is the policy of a column, or of a field, whose name is how statements have it.
type ColumnDescription struct {
	Name, Type string
	Bounds     *Bounds
	Values     []string // nil if it has no public values
}

// Describe lists the protected tables by name, without the columns that the policy hides.
func (m *Model) Describe() []TableDescription {
	var out []TableDescription
	for _, name := range m.Protected() {
		t := m.tables[name]
		d := TableDescription{Name: name, Unit: m.way(t), MaxRows: t.MaxRows, MaxPartitions: t.MaxPartitions, AutoRows: t.AutoRows}
		for _, col := range t.Columns {
			if !col.Hidden {
				d.Columns = append(d.Columns, describe(col))
				for _, f := range col.Fields {
					d.Columns = append(d.Columns, describe(f.Column))
				}
			}
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b TableDescription) int { return a.Name.Compare(b.Name) })
	return out
}

func describe(c Column) ColumnDescription {
	return ColumnDescription{Name: c.Name, Type: c.Type.Display, Bounds: c.Bounds, Values: c.Values}
}

// way writes how a row of a table is found to be a unit's.
func (m *Model) way(t *Table) string {
	if !t.Reference {
		return t.path()
	}
	return "looked up by " + cmp.Or(strings.Join(LookedUpBy(m, t), ", "), "no row")
}

// path writes the path to the unit as "visit_id -> visits -> patient_id".
func (t *Table) path() string {
	var s []string
	at := t
	for _, step := range t.Unit.Steps {
		s = append(s, at.ShownList(step.From), step.To.Name.Name)
		at = step.To
	}
	return strings.Join(append(slices.Clip(s), at.Shown(t.Unit.Column)), " -> ")
}

// LeftOut says which rows of the table belong to no unit and are left out, "" if there are none.
func (t *Table) LeftOut() string {
	var said []string
	for _, e := range Ends(t) {
		said = append(said, e.Said(t))
	}
	return strings.Join(said, ", or ")
}
