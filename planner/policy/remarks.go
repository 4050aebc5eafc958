package policy

import "slices"

// Remarks are about the rows of the protected tables that belong to nobody, and about references of which nothing is proved. A partition
// has none of its own.
func Remarks(m *Model) (all []Remark) {
	for _, n := range m.Protected() {
		if t := m.tables[n]; m.Whole(t) == t {
			all = slices.Concat(all, ofNobody(t, m.unit), OfReference(m, t), Assumed(t, m.unit), Unpromised(t, m.unit), Forgetting(t))
		}
	}
	return all
}

// ofNobody says which rows belong to nobody, and whether they count.
func ofNobody(t *Table, unit string) (all []Remark) {
	of := "rows that belong to no " + unit
	if ends := t.LeftOut(); ends != "" {
		remedy := ""
		if remedies := Remedies(t); remedies != "" {
			remedy = "; with " + remedies + " they count"
		}
		all = append(all, Remark{
			t.Name, of + " (" + ends + ") are left out of every answer" + remedy, of + " are left out of every answer", ends + remedy,
		})
	}
	if counted := Counted(t); counted != "" {
		all = append(all, Remark{t.Name, of + " count (" + counted + ")", of + " count", counted})
	}
	return all
}
