package planner

import (
	"slices"
	"strings"

	"dpproxy/catalog"
)

// A TableName is the name of a table.
type TableName = catalog.Name

// A TableDescription is what analysts may know of a protected table: its policy.
type TableDescription struct {
	Name TableName
	// Unit is how a row reaches its privacy unit, e.g. "id" or "visit_id -> visits -> id".
	// A column that the policy hides is written as an ellipsis.
	Unit                   string
	MaxRows, MaxPartitions int64 // 0 is undeclared
	Columns                []ColumnDescription
}

// A ColumnDescription is the policy of a column.
type ColumnDescription struct {
	Name, Type string
	Bounds     *Bounds
	Values     []string // nil if it has no public values
}

// Describe lists the protected tables by name, without the columns that the policy hides.
func (c *Catalog) Describe() []TableDescription {
	var out []TableDescription
	for _, name := range c.Protected() {
		t := c.tables[name]
		d := TableDescription{Name: name, Unit: t.path(), MaxRows: t.maxRows, MaxPartitions: t.maxPartitions}
		for _, col := range t.columns {
			if !col.hidden {
				d.Columns = append(d.Columns, ColumnDescription{Name: col.Name, Type: col.Type.Display, Bounds: col.bounds, Values: col.domain})
			}
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b TableDescription) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	return out
}

// path writes the path to the unit as "visit_id -> visits -> patient_id".
func (t *table) path() string {
	var s []string
	at := t
	for _, step := range t.unit.steps {
		s = append(s, at.shown(step.from), step.to.name.Name)
		at = step.to
	}
	return strings.Join(append(s, at.shown(t.unit.column)), " -> ")
}
