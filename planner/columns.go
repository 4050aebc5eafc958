package planner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Columns returns the released relation as text arrays, one for each column: grouping keys, calls of GROUPING, and aggregates computed from
// released integers. The Released of a grouping set that reads nothing is nil.
func (b *BlockPlan) Columns(released []*Released) []string {
	if b.none {
		return emptyBlock{b}.columns()
	}
	return arrays(b.cells(released, func(cellAt) {}))
}

// A cellAt is a value of an aggregate in a column, that of a row of a grouping set.
type cellAt struct {
	column, place    int
	set, row, output int
	seen             observation
}

// cells returns the columns as lists of texts, and calls visit for each value that is shown.
func (b *BlockPlan) cells(released []*Released, visit func(cellAt)) [][]*string {
	var keys, groupings, outputs [][]*string
	keys = make([][]*string, len(b.block.keys))
	groupings = make([][]*string, len(b.block.groupings))
	outputs = make([][]*string, len(b.block.aggregates))
	judged, alpha := b.judged(released), atConfidence(b, released)
	shown := nonnegativeCells(b, b.consistent(released))
	for i, p := range b.Sets {
		rows := judged[i]
		for row := range p.rows(released[i]) {
			if rows != nil && rows[row].withheld && p.leavesOut() {
				continue
			}
			p.appendKeys(keys, p.keysOf(released[i], row))
			b.appendGroupings(groupings, p)
			for o := range outputs {
				of := shown[o].in(p, o, i, row, rows[row])
				text := p.text(o, of, len(rows), alpha)
				if text != nil {
					visit(cellAt{len(keys) + len(groupings) + o, len(outputs[o]), i, row, o, p.observed(of).at(alpha)})
				}
				outputs[o] = append(outputs[o], text)
			}
		}
	}
	return slices.Concat(keys, groupings, outputs)
}

// appendGroupings appends the values of calls of GROUPING in a row of a set.
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

// Unreleased returns the columns before anything is released: all public groups, with NULL for each value. Private groups have no rows.
func (b *BlockPlan) Unreleased() []string {
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

// Consistent reports whether some columns show other cells than were released: without negative cells, and such that they add up.
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

// Errors returns the error of each aggregate over all grouping sets. Released has the relations that were released, or is nil for a plan
// that has not run. An error does not include values beyond their bounds; its text says so.
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

// errorOf is the error of an aggregate.
func (b *BlockPlan) errorOf(i int, released []*Released) ErrorBar {
	if b.none {
		return ErrorBar{Label: b.block.aggregates[i].label}
	}
	judged, alpha := make([][]integers, len(b.Sets)), atConfidence(b, released)
	foreseen := judged
	if released != nil {
		judged = b.judged(released)
	} else {
		foreseen = b.foreseen(0)
	}
	var bar ErrorBar
	for j, p := range b.Sets {
		one := p.errorBar(&p.outputs[i], judged[j], foreseen[j], alpha)
		if j == 0 || bar.Hidden {
			bar = one
			continue
		}
		if one.Hidden {
			continue
		}
		bar.Least, bar.Most = min(bar.Least, one.Least), max(bar.Most, one.Most)
		bar.Beyond, bar.Unanswered = max(bar.Beyond, one.Beyond), bar.Unanswered || one.Unanswered
		bar.Widest, bar.Rows = bar.Widest.wider(one.Widest), bar.Rows+one.Rows
	}
	bar.None = released != nil && !bar.Hidden && !bar.Known()
	return bar
}

// ErrorGroups names, for each aggregate whose error differs between groups, the groups with the smallest, the median and the largest error.
// It depends on released numbers alone. A block that reads nothing has none.
func (b *BlockPlan) ErrorGroups(released []*Released) []string {
	if released == nil || b.none {
		return nil
	}
	return errorGroups{b, released, b.judged(released)}.lines()
}

// SmallGroups counts the values that are NULL in the released relation because their groups are small, and all values for which that is
// possible. The relations of a block that reads nothing are nil.
func (b *BlockPlan) SmallGroups(released []*Released) (hidden, all int) {
	if released == nil || b.none {
		return 0, 0
	}
	for i, rows := range b.judged(released) {
		set := b.Sets[i]
		for k := range set.outputs {
			o := &set.outputs[k]
			if _, ok := o.estimator.(rowed); !ok || o.report != "" {
				continue
			}
			for _, row := range rows {
				if row.withheld {
					continue
				}
				if all++; set.hides(o, row, len(rows)) {
					hidden++
				}
			}
		}
	}
	return hidden, all
}

// errorGroups has the errors of a block's aggregates by group.
type errorGroups struct {
	*BlockPlan

	released []*Released
	judged   [][]integers
}

// lines returns a line for each aggregate.
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
		said := "The error of " + a.label + whose(b.block) + " is " + b.one(i, least) + " at the least"
		if len(groups) > 2 {
			said += ", " + b.one(i, groups[(len(groups)-1)/2]) + " at the median"
		}
		if s := said + ", and " + b.one(i, most) + " at the most."; !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// A groupError is the half-width of the interval of an aggregate in one row of a grouping set.
type groupError struct {
	half     float64
	set, row int
}

// ofGroups lists the known errors of an aggregate.
func (b errorGroups) ofGroups(output int) []groupError {
	var out []groupError
	alpha := atConfidence(b.BlockPlan, b.released)
	for j, g := range b.Sets {
		o, rows := &g.outputs[output], b.judged[j]
		for row := range rows {
			if g.hides(o, rows[row], len(rows)) || g.unanswered(o, rows[row].clips) {
				continue
			}
			if half := o.furthest(g.observed(rows[row]).at(alpha)); !math.IsNaN(half) && !math.IsInf(half, 0) {
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
	where := "in the total"
	if len(labels) > 0 {
		where = "where " + strings.Join(labels, ", ")
	}
	return "± " + unit.grouped(e.half) + " (" + where + ")"
}

// shortKey abridges a key.
func shortKey(key string) string {
	const most = 40
	if utf8.RuneCountInString(key) <= most {
		return key
	}
	return string([]rune(key)[:most]) + "…"
}

// judged returns the rows of each grouping set, made to agree, with the verdict on each. Verdicts are by the counts as they were released,
// also of replicas.
func (b *BlockPlan) judged(released []*Released) [][]integers {
	rows := make([][]integers, len(b.Sets))
	for i, r := range b.consistent(released) {
		if r == nil {
			continue
		}
		g := b.Sets[i]
		rows[i] = g.observable(r)
		if of := released[i].judged; of != nil {
			for at := range rows[i] {
				rows[i][at].withheld, rows[i][at].answer = of[at].withheld, &of[at]
			}
			continue
		}
		for at, row := range released[i].integers() {
			rows[i][at].withheld = g.withholds(row)
		}
	}
	return rows
}

// Judged returns the released relations such that their replicas hide and show the same values: judged anew, replicas would tell how near
// to a verdict the integers of a group are that is withheld.
func (b *BlockPlan) Judged(released []*Released) []*Released {
	if released == nil || b.none {
		return released
	}
	out := slices.Clone(released)
	for i, rows := range b.judged(released) {
		if out[i] != nil {
			own := *out[i]
			own.judged, out[i] = rows, &own
		}
	}
	return out
}

// A Verdict counts the groups of a block that are withheld.
type Verdict struct {
	Withheld, Of int
	// Fewest is the minimum of people; 0 if groups are withheld that have no row.
	Fewest int64
	// Alone says that there is no GROUP BY, LeftOut that the groups are left out; otherwise their values are NULL.
	Alone, LeftOut bool
}

// Withheld counts the groups that a released count withholds.
func (b *BlockPlan) Withheld(released []*Released) (v Verdict) {
	if released == nil || b.none {
		return v
	}
	for i, rows := range b.judged(released) {
		g := b.Sets[i]
		if g.judge == nil {
			continue
		}
		if g.judge.people {
			v.Fewest = g.judge.fewest
		}
		v.Of, v.Alone, v.LeftOut = v.Of+len(rows), len(b.block.keys) == 0, v.LeftOut || g.leavesOut()
		for _, row := range rows {
			if row.withheld {
				v.Withheld++
			}
		}
	}
	return v
}

// String tells how many groups are withheld and why. It is "" if none is.
func (v Verdict) String() string {
	groups := fmt.Sprintf("%d groups", v.Withheld)
	if v.Withheld == 1 {
		groups = "1 group"
	}
	become := "values are NULL"
	if v.LeftOut {
		become = "left out"
	}
	switch {
	case v.Withheld == 0:
		return ""
	case v.Alone:
		return fmt.Sprintf("The answer is withheld: fewer than %d people by the released count.", v.Fewest)
	case v.Fewest > 0:
		return fmt.Sprintf("%s withheld: fewer than %d people by the released counts (%s).", groups, v.Fewest, become)
	}
	return fmt.Sprintf("%s of %d without a row by the released counts (%s).", groups, v.Of, become)
}
