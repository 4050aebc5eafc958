package planner

import "slices"

// Of a block whose conditions no row can meet the answer is known without a row.
//
// A condition without a column is evaluated on the mirror, in the analyst's session, from constants, parameters and public rows. Where
// one that every row must meet is false or NULL, the block has no rows on D, and none on D⁻: its answer is a function of the
// statement and of these values, which the analyst can ask for anyway, and its loss is 0. So nothing is charged, read or drawn, and
// the answer is exact: no groups but that of GROUP BY (), whose counts are 0 and whose other aggregates are NULL.
//
// Where it is the public values of a key that no condition is true of, there are no groups either, and so no loss. But rows can meet the
// conditions that have other values than the policy declares: the answer has none of them and says so.
//
// Conditions of a view that no analyst may see do not count: the answer would tell them.

// planNone plans a block that has no rows but those that are astray.
func (b *block) planNone(strays ...stray) *BlockPlan {
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
		return &zero // and so are its error and the ends of its interval
	}
	return nil
}

// An emptyBlock is a block that has no rows.
type emptyBlock struct{ *BlockPlan }

// errors are those of values that are exact.
func (b emptyBlock) errors() (bars []ErrorBar) {
	for _, a := range b.block.aggregates {
		if a.report == "" {
			bars = append(bars, ErrorBar{Label: a.label})
		}
	}
	return bars
}

// columns are those of the rows that GROUP BY () has.
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
