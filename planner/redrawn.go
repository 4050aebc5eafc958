package planner

import (
	"slices"

	"dpproxy/parser/marks"
)

// Unexplained returns the names of output columns that are computed of released values such that no formula has their error.
func Unexplained(p *Plan) (names []string) {
	if !noisy(p) {
		return nil
	}
	for _, c := range p.outputs {
		if len(c.Of) == 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// Roundings is how far rounding within a statement moves the values of its output columns, by their names, whose errors no formula has. It
// is infinite where that is not known.
func Roundings(p *Plan) map[string]float64 {
	all := map[string]float64{}
	for _, c := range p.outputs {
		if len(c.Of) == 0 {
			all[c.Name] = max(all[c.Name], c.Plus)
		}
	}
	return all
}

// Marked marks the released relation of a block for a query that reads it by a name: which columns have noise, and whether that noise can
// be drawn anew. Noise decides which rows there are if groups are private, chosen or may be left out.
func Marked(b *BlockPlan, name string) marks.Block {
	m := marks.Block{Name: name}
	for _, c := range relationColumns(b.block) {
		of := marks.Label
		if c.aggregate >= 0 && !b.none {
			of = redrawn(b, c.aggregate)
		}
		m.Columns = append(m.Columns, marks.Column{Name: c.name, Mark: of})
	}
	for _, g := range b.Sets {
		if !b.none && (g.Private() || g.Top != nil || g.leavesOut()) {
			m.Rows = marks.Noisy
		}
	}
	return m
}

// redrawn is the mark of an aggregate. A choice of the exponential mechanism cannot be drawn anew.
func redrawn(b *BlockPlan, aggregate int) marks.Mark {
	for _, g := range b.Sets {
		chosen := func(i int) bool { return g.statistics[i].choosing() != nil }
		if slices.ContainsFunc(g.outputs[aggregate].statistics(), chosen) {
			return marks.Unknown
		}
	}
	return marks.Cell
}
