package planner

import (
	"fmt"
	"slices"

	"dpproxy/planner/source"
)

// LeftOut says which rows of one unit are left out before anything is measured: no error
// that is measured has a part for them.
func (p *Plan) LeftOut() []string {
	var all []string
	for _, b := range p.Blocks {
		for _, s := range leftOutOf(b.block, p.unit) {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// leftOutOf lists them for one block.
func leftOutOf(b *block, unit string) []string {
	if !b.reads() {
		return nil
	}
	var all []string
	for _, c := range b.source.Cuts() {
		all = append(all, leftOut(c, unit))
	}
	return all
}

func leftOut(c source.Cut, unit string) string {
	if c.Grouped {
		return fmt.Sprintf("counts and sums over groups of rows of one %s in %s are those of at most %d rows", unit, c.Of, c.Rows)
	}
	if c.Elements {
		return fmt.Sprintf("of an array in %s the first %d elements are taken", c.Of, c.Rows)
	}
	return fmt.Sprintf("joined rows of one %s are cut to %d of %s", unit, c.Rows, c.Of)
}
