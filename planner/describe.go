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
	// Unit is how a row reaches its privacy unit, e.g. "id" or "visit_id -> visits".
	Unit                   string
	MaxRows, MaxPartitions int64 // 0 is undeclared
	Columns                []ColumnDescription
}

// A ColumnDescription is the policy of a column.
type ColumnDescription struct {
	Name, Type string
	Hidden     bool
	Bounds     *Bounds
	Values     []string // nil if it has no public values
}

// Describe lists the protected tables by name.
func (c *Catalog) Describe() []TableDescription {
	var out []TableDescription
	for _, name := range c.Protected() {
		t := c.tables[name]
		d := TableDescription{Name: name, Unit: t.unit.String(), MaxRows: t.maxRows, MaxPartitions: t.maxPartitions}
		for _, col := range t.columns {
			d.Columns = append(d.Columns, ColumnDescription{Name: col.Name, Type: col.Type.Display, Hidden: col.hidden, Bounds: col.bounds, Values: col.domain})
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b TableDescription) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	return out
}

// String writes the path as "visit_id -> visits -> patient_id".
func (p path) String() string {
	var s []string
	for _, step := range p.steps {
		s = append(s, step.from, step.to.name.Name)
	}
	return strings.Join(append(s, p.column), " -> ")
}
