package policy

import (
	"slices"

	"dpproxy/catalog"
)

// indexVersion is the server_version_num from which plans rely on indexes. Before it, Postgres
// changes the flags of an index in place, so that the snapshot in which the catalogue is read
// does not tell them.
const indexVersion = 140000

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
	if !t.Source.KeysHold() {
		return false
	}
	return slices.ContainsFunc(t.Source.Keys, func(k catalog.Key) bool { return slices.Contains(k.Columns, name) }) ||
		t.Source.Kind == 'r' && slices.ContainsFunc(t.sorted, func(i catalog.Index) bool { return slices.Contains(i.Columns, name) })
}

// Begins reports whether an index of the table begins with the column.
func (t *Table) Begins(column string) bool {
	c, ok := t.Source.Column(column)
	return ok && t.Source.Kind == 'r' && c.Type.Kind != 'd' &&
		slices.ContainsFunc(t.sorted, func(i catalog.Index) bool { return i.Columns[0] == column })
}
