package main

import (
	"maps"
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// turnOff refuses the relations that have changed.
func (g *generation) turnOff(o *outlook) {
	for n, changes := range o.off {
		_, told := why(changes)
		g.data.TurnOff(n, told)
	}
}

// logChanges says which relations are refused, and why, but for those that were for the same reason.
func (v *service) logChanges(o, before *outlook) {
	for _, p := range o.misfits {
		if before == nil || !slices.ContainsFunc(before.misfits, func(q policy.Problem) bool { return q.String() == p.String() }) {
			v.log.Error("the policy does not fit the protected database any more: statements about what changed are refused",
				"problem", p.String(), "to do", confirmHint)
		}
	}
	for _, n := range slices.SortedFunc(maps.Keys(o.off), catalog.Name.Compare) {
		text, _ := why(o.off[n])
		if before != nil {
			if earlier, _ := why(before.off[n]); earlier == text {
				continue
			}
		}
		v.log.Error("the schema of a table has changed since the last sync: statements about it are refused",
			"table", n.String(), "changed", text, "to do", confirmHint)
	}
}

const confirmHint = "dpproxy check, then dpproxy sync: a running dpproxy takes it over"
