package planner

import "slices"

// If no row can meet the conditions of a block, its answer is known without reading a row.
//
// The mirror evaluates a condition without columns in the session of the analyst, from constants, parameters and public rows. If such a
// condition must hold for every row and is false or NULL, the block has no rows on D, and none on D⁻. Its answer is a function of the
// statement and of these values, for which the analyst can ask anyway, and its loss is 0. So nothing is charged, read or drawn, and the
// answer is exact: no groups except the group of GROUP BY (), whose counts are 0 and whose other aggregates are NULL.
//
// A condition of HAVING without columns leaves out every group if it is false or NULL. The answer is then of no use above the block, which
// shows nothing.
//
// If no public value of a key meets the conditions, there are no groups either, and no loss; if none of any column does, there are no rows
// (unmet.go). But rows with other values than the policy declares can meet the conditions: the answer leaves them out and says so.
//
// Conditions of a concealed view are ignored, since the answer would reveal them.

// planNone plans a block that has no rows except strays.
func (b *block) planNone(strays []stray) *BlockPlan {
	bp := &BlockPlan{block: b, none: true, strays: strays}
	for _, keys := range b.sets {
		g := &GroupingSet{}
		g.keys, g.at, g.lists = keys, b.at, []*list{}
		if len(keys) == 0 {
			g.size = 1
		}
		bp.Sets = append(bp.Sets, g)
	}
	return bp
}

// overNone is the value of an aggregate over no rows.
func (a *aggregate) overNone() *string {
	switch a.form.(type) {
	case countOf, pairCountOf:
		zero := "0"
		return &zero // its error and the ends of its interval are 0 too
	}
	return nil
}

// An emptyBlock is a block that has no rows.
type emptyBlock struct{ *BlockPlan }

// errors returns the errors of exact values.
func (b emptyBlock) errors() (bars []ErrorBar) {
	for _, a := range b.block.aggregates {
		if a.report == "" {
			bars = append(bars, ErrorBar{Label: a.label})
		}
	}
	return bars
}

// columns returns the columns of the rows for GROUP BY ().
func (b emptyBlock) columns() []string {
	keys, groupings := make([][]*string, len(b.block.keys)), make([][]*string, len(b.block.groupings))
	outputs := make([][]*string, len(b.block.aggregates))
	for _, g := range b.Sets {
		if g.size == 0 {
			continue
		}
		g.appendKeys(keys, nil)
		b.appendGroupings(groupings, g)
		for o, a := range b.block.aggregates {
			outputs[o] = append(outputs[o], a.overNone())
		}
	}
	return arrays(slices.Concat(keys, groupings, outputs))
}
