package suggest

import (
	"slices"
	"strings"

	"dpproxy/catalog"
)

// nobody describes how the way from a row of a table can end before the unit; "" if it cannot.
func (d *Draft) nobody(of *Table) string {
	var said []string
	for t := of; t != nil; t = d.Table(t.To) {
		columns := t.Via
		if t.Unit != "" {
			columns = []string{t.Unit}
		}
		var ends []string
		if slices.ContainsFunc(columns, func(name string) bool { c, ok := t.Source.Column(name); return ok && !c.NotNull }) {
			ends = append(ends, "is NULL")
		}
		if t.Unit == "" && !enforced(t) {
			ends = append(ends, "has no row in "+shortName(t.To))
		}
		if ends != nil {
			name := strings.Join(columns, ", ")
			if t != of {
				name = shortName(t.Source.Name) + "." + name
			}
			said = append(said, name+" "+strings.Join(ends, " or "))
		}
		if t.Unit != "" {
			break
		}
	}
	return strings.Join(said, ", or ")
}

// enforced reports whether the database enforces that the way of a table finds a row.
func enforced(t *Table) bool {
	return slices.ContainsFunc(t.Source.Foreign, func(fk catalog.ForeignKey) bool {
		return fk.References == t.To && slices.Equal(fk.Columns, t.Via) && slices.Equal(fk.Target, t.At)
	})
}

// countable reports whether rows of a table can count if their own column of the unit is NULL: a key distinguishes them.
func countable(t *Table) bool {
	notNull := func(name string) bool { c, ok := t.Source.Column(name); return ok && c.NotNull }
	return t.Unit != "" && !notNull(t.Unit) && t.Source.KeysHold() && slices.ContainsFunc(t.Source.Keys, func(k catalog.Key) bool {
		return !slices.ContainsFunc(k.Columns, func(name string) bool { return !notNull(name) })
	})
}
