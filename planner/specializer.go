package planner

import "dpproxy/planner/scalar"

// A specializer plans the grouping sets of a block for known constants.
type specializer struct {
	domains
}

func newSpecializer(b *block, env *scalar.Env) *specializer {
	return &specializer{
		domains: domains{
			arguments: arguments{env, b.source.Conjuncts()}, b: b,
			factors: map[*factor][][]*string{}, byKeys: map[string]*list{},
		},
	}
}

// unitOrdered reports whether an index alone has all that the level uses, unit by unit. If
// the rows had to be looked up as well, one after the other, a sort would be faster. It is known
// from the schema alone, as are all choices among statements: the rows must not decide.
func (sp *specializer) unitOrdered() bool {
	t := sp.b.source.ScannedTable()
	if t == nil || sp.b.source.Tagged() {
		return false
	}
	var names []string
	for _, c := range sp.b.source.Used() {
		names = append(names, c.Name)
	}
	return t.UnitIndex(names)
}
