package planner

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// Copied returns the public tables whose copies on the mirror may decide which groups an answer has: those that the blocks name, and those
// to which columns refer whose values are groups. Rows that they have gained since they were copied are in no group.
func Copied(p *Plan) (names []catalog.Name) {
	add := func(n catalog.Name) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	look := func(e scalar.Expr) {
		for _, c := range scalar.Bases(e) {
			if c.Among != nil {
				add(c.Among.Table)
			}
		}
	}
	for _, b := range p.Blocks {
		b.block.source.EachTable(func(t *policy.Table, _ string) {
			if t.Public {
				add(t.Name)
			}
		})
		for _, k := range b.block.keys {
			look(k.expr)
		}
		for _, a := range b.block.aggregates {
			for _, e := range a.form.overRows() {
				look(e)
			}
		}
	}
	return names
}
