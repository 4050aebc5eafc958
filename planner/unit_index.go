package planner

import (
	"slices"

	"dpproxy/planner/policy"
)

// Lookups are those that the reads of the plan make.
func (p *Plan) Lookups() []policy.Lookup {
	var out []policy.Lookup
	for _, b := range p.Blocks {
		if !b.looksUp() {
			continue
		}
		t := b.block.source.ScannedTable()
		if l := (policy.Lookup{Table: t.Name, Column: t.Unit.Column}); !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

func (b *BlockPlan) looksUp() bool {
	return !b.Known && slices.ContainsFunc(b.Sets, func(p *GroupingSet) bool {
		return slices.ContainsFunc(p.Reads, func(r *Read) bool { return r.lookup })
	})
}

// unitIndexed reports whether an index finds the rows of one unit. It is known from the
// schema alone, as are all choices among statements: what the rows are must not decide.
func (sp *specializer) unitIndexed() bool { return sp.unitIndex(nil) }

// unitOrdered reports whether an index alone has all that the level uses, unit by unit. If
// the rows had to be looked up as well, one after the other, a sort would be faster.
func (sp *specializer) unitOrdered() bool {
	var names []string
	for _, c := range sp.b.source.Used() {
		names = append(names, c.Name)
	}
	return sp.unitIndex(names)
}

// unitIndex reports whether an index of the only table begins with the unit and has the
// columns.
func (sp *specializer) unitIndex(columns []string) bool {
	t := sp.b.source.ScannedTable()
	return t != nil && !slices.Contains(sp.settings.Unindexed, t.Name) && t.UnitIndex(columns)
}
