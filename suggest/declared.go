package suggest

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/constraint"
)

// Declared compares the values that a policy declares of a column with those that its type and CHECK constraints admit, its own and those
// of its domain. Never are values that no row can have, and missing those that a row can have and that are not declared, where they can
// be listed. Labels are those of an enum. A condition that is not understood admits all.
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
