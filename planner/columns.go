package planner

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Columns returns the released relation as text arrays, one for each column: grouping
// keys, calls of GROUPING, and aggregates computed from released integers. A grouping set that
// reads nothing has nil for its Released.
func (b *BlockPlan) Columns(released []*Released) []string {
	if b.none {
		return emptyBlock{b}.columns()
	}
	var keys, groupings, outputs [][]*string
	keys = make([][]*string, len(b.block.keys))
	groupings = make([][]*string, len(b.block.groupings))
	outputs = make([][]*string, len(b.block.aggregates))
	consistent, alpha := b.consistent(released), atConfidence(b, released)
	shown := nonnegativeCells(b, consistent)
	for i, p := range b.Sets {
		var rows []integers
		if consistent[i] != nil {
			rows = p.observable(consistent[i])
		}
		for row := range p.rows(released[i]) {
			p.appendKeys(keys, p.keysOf(released[i], row))
			b.appendGroupings(groupings, p)
			for o := range outputs {
				outputs[o] = append(outputs[o], p.text(o, shown[o].in(p, o, i, row, rows[row]), len(rows), alpha))
			}
		}
	}
	return arrays(slices.Concat(keys, groupings, outputs))
}

// appendGroupings adds the values of calls of GROUPING in a row of a set.
func (b *BlockPlan) appendGroupings(columns [][]*string, g *GroupingSet) {
	for i, args := range b.block.groupings {
		text := strconv.Itoa(g.grouping(args))
		columns[i] = append(columns[i], &text)
	}
}

func arrays(columns [][]*string) (out []string) {
	for _, cells := range columns {
		out = append(out, ArrayText(cells))
	}
	return out
}

// Sample returns such columns before anything is released: of all public groups, with NULL in the place of each value. Private groups
// have no rows.
func (b *BlockPlan) Sample() []string {
	keys, groupings := make([][]*string, len(b.block.keys)), make([][]*string, len(b.block.groupings))
	outputs := make([][]*string, len(b.block.aggregates))
	for _, g := range b.Sets {
		for row := range g.size {
			g.appendKeys(keys, g.publicKeys(row))
			b.appendGroupings(groupings, g)
			for o := range outputs {
				outputs[o] = append(outputs[o], nil)
			}
		}
	}
	return arrays(slices.Concat(keys, groupings, outputs))
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
// relations that were released, or is nil for a plan that was not run. Values beyond their bounds have no part in an error, which says so.
func (b *BlockPlan) Errors(released []*Released) []ErrorBar {
	if b.none {
		return emptyBlock{b}.errors()
	}
	var bars []ErrorBar
	for i, a := range b.block.aggregates {
		if a.report == "" {
			bar := b.errorOf(i, released)
			bar.Label += whose(b.block)
			bars = append(bars, bar)
		}
	}
	return bars
}

// errorOf is the error of one aggregate.
func (b *BlockPlan) errorOf(i int, released []*Released) ErrorBar {
	if b.none {
		return ErrorBar{Label: b.block.aggregates[i].label}
	}
	consistent, alpha := released, atConfidence(b, released)
	if released != nil {
		consistent = b.consistent(released)
	}
	var bar ErrorBar
	for j, p := range b.Sets {
		var rows []integers
		if released != nil {
			rows = p.observable(consistent[j])
		}
		one := p.errorBar(&p.outputs[i], rows, alpha)
		if j == 0 || bar.Hidden {
			bar = one
			continue
		}
		if one.Hidden {
			continue
		}
		bar.Least, bar.Most = min(bar.Least, one.Least), max(bar.Most, one.Most)
		bar.Beyond, bar.Unanswered = max(bar.Beyond, one.Beyond), bar.Unanswered || one.Unanswered
	}
	bar.None = released != nil && !bar.Hidden && !bar.Known()
	return bar
}

// ErrorGroups tells, of each aggregate whose error differs between groups, which of them has the least, the median and the most, by
// released numbers alone. A block that read nothing has none.
func (b *BlockPlan) ErrorGroups(released []*Released) []string {
	if released == nil || b.none {
		return nil
	}
	return errorGroups{b, b.consistent(released)}.lines()
}

// SmallGroups counts the values of aggregates that are NULL in the released relation since their
// groups are small, and all values that could be. A block that read nothing has released nil.
func (b *BlockPlan) SmallGroups(released []*Released) (hidden, all int) {
	if released == nil || b.none {
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

// errorGroups are the errors of a block's aggregates by group, of released relations that agree.
type errorGroups struct {
	*BlockPlan

	released []*Released
}

// lines tell of each aggregate.
func (b errorGroups) lines() []string {
	var out []string
	for i, a := range b.block.aggregates {
		if a.report != "" {
			continue
		}
		groups := b.ofGroups(i)
		if len(groups) < 2 {
			continue
		}
		slices.SortStableFunc(groups, func(x, y groupError) int { return cmp.Compare(x.half, y.half) })
		least, most := groups[0], groups[len(groups)-1]
		if Number(least.half) == Number(most.half) {
			continue
		}
		said := a.label + whose(b.block) + ": least " + b.one(i, least)
		if len(groups) > 2 {
			said += ", median " + b.one(i, groups[(len(groups)-1)/2])
		}
		if s := said + ", most " + b.one(i, most); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// A groupError is the error of an aggregate in one row of one grouping set.
type groupError struct {
	half     float64
	set, row int
}

// ofGroups lists the errors of an aggregate that are known.
func (b errorGroups) ofGroups(output int) []groupError {
	var out []groupError
	alpha := atConfidence(b.BlockPlan, b.released)
	for j, g := range b.Sets {
		if b.released[j] == nil {
			continue
		}
		o, rows := &g.outputs[output], g.observable(b.released[j])
		for row := range rows {
			if g.hides(o, rows[row], len(rows)) || g.unanswered(o, rows[row].clips) {
				continue
			}
			if half := o.radius(g.observed(rows[row]).at(alpha)); !math.IsNaN(half) && !math.IsInf(half, 0) {
				out = append(out, groupError{half, j, row})
			}
		}
	}
	return out
}

// one writes the error of one group with its keys.
func (b errorGroups) one(output int, e groupError) string {
	set := b.Sets[e.set]
	labels := set.labels(b.block)
	for i, key := range set.keysOf(b.released[e.set], e.row) {
		if key == nil {
			labels[i] += " IS NULL"
		} else {
			labels[i] += " = " + shortKey(*key)
		}
	}
	unit := set.outputs[output].unit()
	said := "± " + unit.figure(e.half)
	if len(labels) == 0 {
		return said + " in the total"
	}
	return said + " where " + strings.Join(labels, ", ")
}

// shortKey writes the beginning of a key.
func shortKey(key string) string {
	const most = 40
	if utf8.RuneCountInString(key) <= most {
		return key
	}
	return string([]rune(key)[:most]) + "…"
}
