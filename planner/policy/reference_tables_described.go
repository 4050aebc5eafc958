package policy

import (
	"fmt"
	"slices"
	"strings"
)

// LookedUpBy lists the columns by which rows of a reference table are looked up, as "patients.address_id", sorted. A column that the
// policy hides is written as an ellipsis.
func LookedUpBy(m *Model, reference *Table) (list []string) {
	for _, t := range m.tables {
		for _, s := range t.Lookups {
			if by := t.Name.Name + "." + t.ShownList(s.From); s.To == reference && m.Whole(t) == t && !slices.Contains(list, by) {
				list = append(list, by)
			}
		}
	}
	slices.Sort(list)
	return list
}

// OfReference are remarks about a reference table: who looks its rows up, and where no foreign key says that they are meant.
func OfReference(m *Model, t *Table) []Remark {
	if !t.Reference {
		return nil
	}
	by := strings.Join(LookedUpBy(m, t), ", ")
	if by == "" {
		const unread = "no foreign key and no refers leads to a key of this reference table: no statement can read it"
		return []Remark{{Table: t.Name, Said: unread, Alike: unread}}
	}
	protects := fmt.Sprintf("a row is protected as the rows of the one %s are who alone refers to it; one that rows of others refer to as "+
		"well is not", m.unit)
	said := []Remark{{
		t.Name, "a reference table, looked up by " + by + ": " + protects, "reference tables: " + protects, "looked up by " + by,
	}}
	for _, n := range m.Protected() {
		from := m.tables[n]
		for _, s := range from.Lookups {
			if s.To == t && m.Whole(from) == from && !enforces(from, s) {
				column := from.Name.Name + "." + columnList(s.From)
				const others = "values that are no reference may find rows of others"
				said = append(said, Remark{
					t.Name, "no enforced foreign key says that " + column + " refers to it: " + others,
					"no enforced foreign key says that columns refer to reference tables: " + others, column,
				})
			}
		}
	}
	return said
}
