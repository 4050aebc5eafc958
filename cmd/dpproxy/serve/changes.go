package serve

import (
	"maps"
	"slices"

	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/drift"
	"dpproxy/planner/policy"
)

// turnOff refuses the relations whose schema has changed.
func (g *generation) turnOff(o *drift.Outlook) {
	for n, changes := range o.Off {
		_, told := drift.Why(changes)
		g.data.TurnOff(n, told)
	}
}

// logChanges logs which relations are refused, and why, except relations that were refused before for the same reason.
func (v *service) logChanges(o, before *drift.Outlook) {
	for _, p := range o.Misfits {
		if before == nil || !slices.ContainsFunc(before.Misfits, func(q policy.Problem) bool { return q.String() == p.String() }) {
			v.log.Error("the policy does not fit the protected database any more: statements about what changed are refused",
				"problem", p.String(), "to do", confirmHint)
		}
	}
	for _, n := range slices.SortedFunc(maps.Keys(o.Off), catalog.Name.Compare) {
		text, _ := drift.Why(o.Off[n])
		if before != nil {
			if earlier, _ := drift.Why(before.Off[n]); earlier == text {
				continue
			}
		}
		message := "the schema of a table has changed since the last sync: statements about it are refused"
		if slices.Contains(o.Model.Public(), n) {
			message = "the schema of a public table has changed since the last sync: statements over protected rows are refused " +
				"that name it, and alone it is shown as it was copied"
		}
		v.log.Error(message, "table", n.String(), "changed", text, "to do", confirmHint)
	}
}

const confirmHint = "dpproxy check, then dpproxy sync: a running dpproxy takes it over"
