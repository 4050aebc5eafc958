package suggest

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/constraint"
)

// Declared compares the values that a policy declares for a column with the values that its type and the CHECK constraints of its table and
// its domain admit. never are declared values that no row can have; missing are values that a row can have and that are not declared, as
// far as they can be listed. labels are the labels of an enum. A condition that is not understood admits all values.
func Declared(t *catalog.Table, src *catalog.Column, values, labels []string) (never, missing []string) {
	c := constraint.On(t, src, labels)
	if c == nil || len(values) == 0 {
		return nil, nil
	}
	for _, v := range values {
		if !c.Admits(v) {
			never = append(never, v)
		}
	}
	for _, v := range c.Listed() {
		if !slices.ContainsFunc(values, func(w string) bool { return c.Same(v, w) }) {
			missing = append(missing, v)
		}
	}
	return never, missing
}
