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

// defaultBounds are the bounds that a column has, or a field, since the policy says nothing else of it, or nil.
func (p *TablePolicy) defaultBounds(c catalog.Column, said ColumnPolicy) *Bounds {
	if p.Dates == nil || p.Public || said.Hidden || said.Unbounded || said.Bounds != nil || said.Values != nil {
		return nil
	}
	return p.Dates.boundsOf(c.Type)
}

// Stated is the policy of a model as it would be if each column stated the bounds that it has by default or follows, and that it is hidden.
func Stated(p Policy, m *Model) Policy {
	p.Tables = slices.Clone(p.Tables)
	for i := range p.Tables {
		t := &p.Tables[i]
		if at := m.tables[t.Name]; at != nil {
			t.Columns = stated(t, at)
		}
	}
	return p
}

// stated returns the policies of the columns of a table, with those that follow from a default.
func stated(p *TablePolicy, t *Table) map[string]ColumnPolicy {
	columns := p.Columns
	for _, c := range t.Columns {
		said := p.Says(c.Name)
		follows := c.ByDefault || c.Follows != ""
		byDefault := slices.ContainsFunc(c.Fields, func(f Field) bool { return f.ByDefault })
		if !follows && !byDefault && said.Hidden == p.Columns[c.Name].Hidden {
			continue
		}
		if follows {
			said.Bounds = c.Bounds
		}
		said.Fields = slices.Clone(said.Fields)
		for i, f := range c.Fields {
			said.Fields[i].Bounds = f.Bounds
		}
		if columns = maps.Clone(columns); columns == nil {
			columns = map[string]ColumnPolicy{}
		}
		columns[c.Name] = said
	}
	return columns
}

// ByDefault returns the columns of a table, and their fields, that have the bounds of its default for dates.
func ByDefault(t *Table) (all []Column) {
	for _, c := range t.Columns {
		if c.ByDefault {
			all = append(all, c)
		}
		for _, f := range c.Fields {
			if f.ByDefault {
				all = append(all, f.Column)
			}
		}
	}
	return all
}
