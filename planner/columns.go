package planner

import (
	"strconv"
)

// Columns returns the released relation as text arrays, one for each column: grouping
// keys, calls of GROUPING, and aggregates computed from released integers. A grouping set that
// reads nothing has nil for its Released.
func (b *BlockPlan) Columns(released []*Released) []string {
	var keys, groupings, outputs [][]*string
	keys = make([][]*string, len(b.block.keys))
	groupings = make([][]*string, len(b.block.groupings))
	outputs = make([][]*string, len(b.block.aggregates))
	consistent := b.consistent(released)
	shown := nonnegativeCells(b, consistent)
	for i, p := range b.Sets {
		var rows []integers
		if consistent[i] != nil {
			rows = p.observable(consistent[i])
		}
		for row := range p.rows(released[i]) {
			p.appendKeys(keys, p.keysOf(released[i], row))
			for g, args := range b.block.groupings {
				text := strconv.Itoa(p.grouping(args))
				groupings[g] = append(groupings[g], &text)
			}
			for o := range outputs {
				outputs[o] = append(outputs[o], p.text(o, shown[o].in(p, o, i, row, rows[row]), len(rows)))
			}
		}
	}
	var arrays []string
	for _, cells := range append(append(keys, groupings...), outputs...) {
		arrays = append(arrays, ArrayText(cells))
	}
	return arrays
}

// Consistent reports whether some columns show other cells than were released: without negative ones, such that
// they add up.
func (b *BlockPlan) Consistent() bool {
	g := b.Sets[0]
	for o := range g.outputs {
		if g.nonnegative && nonnegativeOutput(g, o) {
			return true
		}
	}
	return false
}

// rows returns how many rows the grouping set shows.
func (p *partitions) rows(r *Released) int {
	if r == nil || r.Keys == nil {
		return p.size
	}
	return len(r.Rows)
}

func (p *partitions) keysOf(r *Released, row int) []*string {
	if r == nil || r.Keys == nil {
		return p.publicKeys(row)
	}
	return r.Keys[row]
}

// Errors returns the error of each aggregate, over all grouping sets. Released has the
// relations that were released, or is nil for a plan that was not run. Clamping bias is not part of it.
func (b *BlockPlan) Errors(released []*Released) []ErrorBar {
	var bars []ErrorBar
	consistent := released
	if released != nil {
		consistent = b.consistent(released)
	}
	for i, a := range b.block.aggregates {
		if a.report != "" {
			continue
		}
		var bar ErrorBar
		for j, p := range b.Sets {
			var rows []integers
			if released != nil {
				rows = p.observable(consistent[j])
			}
			one := p.errorBar(&p.outputs[i], rows)
			if j == 0 || bar.Hidden {
				bar = one
				continue
			}
			if one.Hidden {
				continue
			}
			bar.Least, bar.Most = min(bar.Least, one.Least), max(bar.Most, one.Most)
			bar.Beyond = max(bar.Beyond, one.Beyond)
		}
		bars = append(bars, bar)
	}
	return bars
}

// SmallGroups counts the values of aggregates that are NULL in the released relation since their
// groups are small, and all values that could be. A block that read nothing has released nil.
func (b *BlockPlan) SmallGroups(released []*Released) (hidden, all int) {
	if released == nil {
		return 0, 0
	}
	for i, r := range b.consistent(released) {
		if r == nil {
			continue
		}
		set := b.Sets[i]
		for k := range set.outputs {
			o := &set.outputs[k]
			if _, ok := o.estimator.(rowed); !ok || o.report != "" {
				continue
			}
			all += len(r.Rows)
			for _, row := range r.integers() {
				if set.hides(o, row, len(r.Rows)) {
					hidden++
				}
			}
		}
	}
	return hidden, all
}
