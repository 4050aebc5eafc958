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

// Remarks says what an administrator should know of a reference table.
func Remarks(m *Model, t *Table) []string {
	if !t.Reference {
		return nil
	}
	by := LookedUpBy(m, t)
	if by == nil {
		return []string{"no foreign key and no refers leads to a key of this reference table: no statement can read it"}
	}
	said := []string{fmt.Sprintf("a reference table, looked up by %s: a row is protected as the rows of the one %s are who alone "+
		"refers to it; one that rows of others refer to as well is not", strings.Join(by, ", "), m.unit)}
	for _, n := range m.Protected() {
		from := m.tables[n]
		for _, s := range from.Lookups {
			if s.To == t && m.Whole(from) == from && !enforces(from, s) {
				said = append(said, fmt.Sprintf("no enforced foreign key says that %s.%s refers to it: values that are no reference may "+
					"find rows of others", from.Name.Name, columnList(s.From)))
			}
		}
	}
	return said
}
