package policy

import (
	"maps"
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// Dates are the days between which nearly all dates and points in time are: the bounds of the columns of which the policy says nothing
// else.
type Dates struct {
	First, Last string // such as 2010-01-01
	// Of is the key of the policy that states them, such as schemas.lab.defaults.dates.
	Of string
}

// boundsOf returns the bounds of a column of a type; nil if its values are no dates. The last day counts to its end, in UTC if the type
// has a time zone.
func (d *Dates) boundsOf(t catalog.TypeRef) *Bounds {
	switch baseOID(t) {
	case pgtype.Date:
		return &Bounds{LowText: d.First, HighText: d.Last}
	case pgtype.Timestamp:
		return &Bounds{LowText: d.First + " 00:00:00", HighText: d.Last + " 23:59:59.999999"}
	case pgtype.Timestamptz:
		return &Bounds{LowText: d.First + " 00:00:00Z", HighText: d.Last + " 23:59:59.999999Z"}
	}
	return nil
}

// defaultBounds are the bounds that a column has since the policy says nothing else of it, or nil.
func (p *TablePolicy) defaultBounds(c catalog.Column) *Bounds {
	said := p.Columns[c.Name]
	if p.Dates == nil || p.Public || said.Hidden || said.Unbounded || said.Bounds != nil || said.Values != nil {
		return nil
	}
	return p.Dates.boundsOf(c.Type)
}

// Stated is the policy of a model as it would be if each column stated the bounds that it has by default.
func Stated(p Policy, m *Model) Policy {
	p.Tables = slices.Clone(p.Tables)
	for i := range p.Tables {
		t := &p.Tables[i]
		at := m.tables[t.Name]
		if at == nil || len(ByDefault(at)) == 0 {
			continue
		}
		if t.Columns = maps.Clone(t.Columns); t.Columns == nil {
			t.Columns = map[string]ColumnPolicy{}
		}
		for _, c := range ByDefault(at) {
			said := t.Columns[c.Name]
			said.Bounds = c.Bounds
			t.Columns[c.Name] = said
		}
	}
	return p
}

// ByDefault returns the columns of a table that have the bounds of its default for dates.
func ByDefault(t *Table) (all []Column) {
	for _, c := range t.Columns {
		if c.ByDefault {
			all = append(all, c)
		}
	}
	return all
}
