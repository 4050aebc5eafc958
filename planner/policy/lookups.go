package policy

import (
	"slices"

	"dpproxy/catalog"
)

// indexVersion is the server_version_num from which plans rely on indexes. Before it, Postgres
// changes the flags of an index in place, so that a snapshot does not tell them: a
// check of the index in the snapshot of a read could be passed and the index not be used.
const indexVersion = 140000

// A Lookup is a need of an index: a plan finds the rows of one unit by the column
// of the table that names it. Which rows are found does not depend on the index, only how
// long that takes.
type Lookup struct {
	Table  catalog.Name
	Column string
}

// Lookups has one for each table in which an index finds the rows of one unit, sorted.
func (m *Model) Lookups() []Lookup {
	var out []Lookup
	for n, t := range m.tables {
		if t.UnitIndex(nil) {
			out = append(out, Lookup{n, t.Unit.Column})
		}
	}
	slices.SortFunc(out, func(a, b Lookup) int { return a.Table.Compare(b.Table) })
	return out
}

// UnitIndex reports whether an index of the table begins with its unit and has the columns.
// Domains are cast, and partitions have indexes of their own: both are left out.
func (t *Table) UnitIndex(columns []string) bool {
	if t.Public || t.Source.Kind != 'r' || len(t.Unit.Steps) > 0 {
		return false
	}
	if c, ok := t.Source.Column(t.Unit.Column); !ok || c.Type.Kind == 'd' {
		return false
	}
	return slices.ContainsFunc(t.sorted, func(i catalog.Index) bool {
		return i.Columns[0] == t.Unit.Column && !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(i.Columns, c) })
	})
}

// Indexed reports whether an index holds all values of the column: Postgres keeps them below
// a third of a page, compressed.
func (t *Table) Indexed(name string) bool {
	if t.Source.Kind != 'r' || len(t.Source.Children) > 0 {
		return false
	}
	return slices.ContainsFunc(t.Source.Keys, func(k catalog.Key) bool { return slices.Contains(k.Columns, name) }) ||
		slices.ContainsFunc(t.sorted, func(i catalog.Index) bool { return slices.Contains(i.Columns, name) })
}

// Begins reports whether an index of the table begins with the column.
func (t *Table) Begins(column string) bool {
	c, ok := t.Source.Column(column)
	return ok && t.Source.Kind == 'r' && c.Type.Kind != 'd' &&
		slices.ContainsFunc(t.sorted, func(i catalog.Index) bool { return i.Columns[0] == column })
}
