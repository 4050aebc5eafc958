package setup

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/planner/policy"
	"dpproxy/suggest"
)

// ofDeclared remarks on declared values that the type of their column or a CHECK excludes, and on those that it admits and that are not
// declared. A partition has those of its table.
func ofDeclared(cat *policy.Model) (all []policy.Remark) {
	for _, n := range cat.Protected() {
		t := cat.Table(n)
		if cat.Whole(t) != t {
			continue
		}
		var foreign, never, missing []string
		for i := range t.Columns {
			c := &t.Columns[i]
			if c.Hidden {
				continue
			}
			no, more := suggest.Declared(t.Source, &c.Column, c.Values, c.Labels)
			strange := func(v string) bool { return c.Labels != nil && !slices.Contains(c.Labels, v) }
			foreign = appendValues(foreign, c.Name, slices.DeleteFunc(slices.Clone(no), func(v string) bool { return !strange(v) }))
			never = appendValues(never, c.Name, slices.DeleteFunc(no, strange))
			missing = appendValues(missing, c.Name, more)
		}
		const noLabels = "declared values that are no labels of the enum, which dpproxy sync refuses"
		const nobody = "declared values that the type of the column or a CHECK excludes are shown as groups in which nobody is"
		const left = "rows with values that the type of the column or a CHECK admits, and that are not declared, are in no group"
		all = slices.Concat(all, remarkOf(t, noLabels, foreign), remarkOf(t, nobody, never), remarkOf(t, left, missing))
	}
	return all
}

// remarkOf is a remark on a table and some of its columns, if there are any.
func remarkOf(t *policy.Table, said string, columns []string) []policy.Remark {
	if columns == nil {
		return nil
	}
	own := strings.Join(columns, "; ")
	return []policy.Remark{{Table: t.Name, Said: said + ": " + own, Alike: said, Own: own}}
}

// shownValues is how many values of a column are named.
const shownValues = 5

// appendValues adds a column with values, if there are any.
func appendValues(all []string, column string, values []string) []string {
	n := len(values)
	if n == 0 {
		return all
	}
	text := column + " " + strings.Join(values[:min(n, shownValues)], ", ")
	if n > shownValues {
		text += fmt.Sprintf(" and %d more", n-shownValues)
	}
	return append(all, text)
}

// ofBirths remarks on dates of birth that have the bounds of a default for dates: most are earlier.
func ofBirths(cat *policy.Model) (all []policy.Remark) {
	for _, n := range cat.Protected() {
		t := cat.Table(n)
		if cat.Whole(t) != t {
			continue
		}
		var born []string
		for _, c := range policy.ByDefault(t) {
			if suggest.IsBirth(t.Source, c.Name) {
				born = append(born, c.Name)
			}
		}
		if born != nil {
			said := fmt.Sprintf("dates of birth are clamped to days from %s to %s, by %s: state their own bounds, or {bounds: none}",
				t.Dates.First, t.Dates.Last, t.Dates.Of)
			all = append(all, remarkOf(t, said, born)...)
		}
	}
	return all
}
