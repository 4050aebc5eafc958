package planner

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/scalar"
)

// A specializer plans the grouping sets of a block for known constants.
type specializer struct {
	domains
	unindexed []catalog.Name // tables whose index on the unit is gone
}

func newSpecializer(b *block, env *scalar.Env, unindexed []catalog.Name) *specializer {
	return &specializer{
		domains: domains{
			arguments: arguments{env, b.source.Conjuncts()}, b: b,
			factors: map[*factor][][]*string{}, byKeys: map[string]*list{},
		},
		unindexed: unindexed,
	}
}

// unitIndexed reports whether an index finds the rows of one unit. It is known from the
// schema alone, as are all choices among statements: the rows must not decide.
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
	return t != nil && !slices.Contains(sp.unindexed, t.Name) && t.UnitIndex(columns)
}
