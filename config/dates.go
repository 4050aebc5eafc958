package config

import (
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// readDates reads [first, last], two days.
func readDates(v value) *policy.Dates {
	faults := len(v.d.faults)
	var days []bound
	v.list(func(c value) {
		s, _ := scalarText(c.node)
		day := momentOf(s)
		if day.kind != dateBound {
			c.fail("a day such as 2010-01-31 is needed: dates are [first, last]")
		}
		days = append(days, day)
	})
	switch {
	case len(v.d.faults) > faults:
		return nil
	case len(days) != 2:
		v.fail("dates are [first, last], such as [2010-01-01, 2025-12-31]")
		return nil
	case days[0].order.Cmp(days[1].order) > 0:
		v.fail("the dates are inverted: %s is after %s", days[0].text, days[1].text)
	}
	return &policy.Dates{First: days[0].text, Last: days[1].text, Of: strings.Join(v.path, ".")}
}

// readSchemas reads the defaults of schemas.
func readSchemas(v value, p *Policy) {
	v.entries(func(name string, c value, place position) {
		checkIdentifier(c.placed(place), name)
		var s SchemaDefaults
		decode(c, schemaKeys, &s)
		p.Schemas[name] = s
	})
}

// checkSchemas finds schemas whose defaults are of no table.
func (d *decoder) checkSchemas(p *Policy) {
	for name, s := range p.Schemas {
		of := func(t policy.TablePolicy) bool { return !t.Public && p.schemaOf(t) == name }
		if s.Dates != nil && !slices.ContainsFunc(p.Tables.Tables, of) {
			d.complain("no protected table and no reference table of the policy is in this schema", "schemas", name)
		}
	}
}

// schemaOf is the schema whose defaults a table has: of a partition that of its table.
func (p *Policy) schemaOf(t policy.TablePolicy) string {
	if whole := p.PartitionOf[t.Name]; whole != (catalog.Name{}) {
		return whole.Schema
	}
	return t.Name.Schema
}

// Dated reports whether a table has a default for dates, or would have one if the policy protected it.
func (p *Policy) Dated(n catalog.Name) bool {
	if t := p.table(n); t != nil {
		return t.Dates != nil
	}
	return p.Schemas[n.Schema].Dates != nil || p.Defaults.Dates != nil
}

// datesOfTables gives the tables that state no dates those of their schema, or else those of all tables.
func (p *Policy) datesOfTables() {
	for i := range p.Tables.Tables {
		t := &p.Tables.Tables[i]
		if t.Public || t.Dates != nil {
			continue
		}
		if t.Dates = p.Schemas[p.schemaOf(*t)].Dates; t.Dates == nil {
			t.Dates = p.Defaults.Dates
		}
	}
}
