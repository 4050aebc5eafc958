package planner

import (
	"math"
	"slices"

	"dpproxy/parser/ast"
)

// The errors of a block are the errors of its aggregates in single rows. Sums over groups, maxima and ratios have other errors. And if
// released values decide which rows are shown, rows with large noise are more likely to be shown.

// Errors returns the errors of all blocks, and of output columns that are computed from them. Released has the relations of each block, or
// is nil for a plan that has not run.
func Errors(p *Plan, released [][]*Released) []ErrorBar {
	var bars []ErrorBar
	for i, b := range p.Blocks {
		var of []*Released
		if released != nil {
			of = released[i]
		}
		bars = append(bars, b.Errors(of)...)
	}
	return append(bars, computedErrors(p, released)...)
}

// computedErrors returns the errors of output columns that are not single aggregates.
func computedErrors(p *Plan, released [][]*Released) (bars []ErrorBar) {
	if !noisy(p) {
		return nil
	}
	for _, c := range p.outputs {
		if c.Plain() {
			continue
		}
		bar := ErrorBar{Label: c.Name, Least: math.Inf(1), Most: math.Inf(1)}
		for i, at := range c.Of {
			b := p.Blocks[at.Block]
			var of []*Released
			if released != nil {
				of = released[at.Block]
			}
			one := b.errorOf(at.Aggregate, of)
			if one.Known() {
				one.Least, one.Most, one.Widest = one.Least+c.Plus, one.Most+c.Plus, one.Widest.add(c.Plus)
			}
			if len(c.Of) == 1 && (c.Plus < unshown*one.Least || one.sameAs(b.errorOf(at.Aggregate, of))) {
				bar.Label = ""
				break
			}
			one.Label = c.Name
			bar = bar.or(one, i == 0)
		}
		if bar.Label != "" {
			bars = append(bars, bar)
		}
	}
	return bars
}

// unshown is the part of an error below which none of its figures shows what is added to it, but by the chance of their rounding.
const unshown = 1e-4

// noisy reports whether any block has noisy values.
func noisy(p *Plan) bool {
	for _, b := range p.Blocks {
		if !b.none && slices.ContainsFunc(b.Sets, (*GroupingSet).answers) {
			return true
		}
	}
	return false
}

// atConfidence is one minus the confidence of the interval of a single row, α. If released values decide which rows are shown it is α
// divided by the number of rows (Bonferroni), so that all intervals hold at once with the confidence of the statement. It is 0 before the
// release of private groups, whose number is unknown.
func atConfidence(b *BlockPlan, released []*Released) float64 {
	if !b.block.chosen {
		return b.alpha
	}
	rows := 0
	for i, set := range b.Sets {
		if released == nil && set.Private() {
			return 0
		}
		switch {
		case released == nil && set.Top != nil:
			rows += set.Top.K
		case released == nil:
			rows += set.size
		default:
			rows += set.rows(released[i])
		}
	}
	return max(b.alpha/float64(max(rows, 1)), leastAlpha)
}

// whose says to which rows an error refers, if the statement computes something from rows or chooses among them.
func whose(b *block) string {
	switch {
	case len(b.keys) == 0:
	case b.chosen:
		return " of all groups at once"
	case b.computed:
		return " of each group"
	}
	return ""
}

// noteComputed marks the blocks from which output columns are computed.
func (q *Query) noteComputed(columns []ast.Output) {
	for _, c := range columns {
		if c.Plain() {
			continue
		}
		for _, at := range c.Of {
			b := q.blocks[at.Block]
			b.chosen = b.chosen || c.Chosen
		}
		for _, b := range q.blocks {
			b.computed = b.computed || c.Of == nil
		}
	}
}

// title names an aggregate by its output column if the call is abridged and might be mistaken for another.
func (q *Query) title(columns []ast.Output) {
	for _, c := range columns {
		if !c.Titled {
			continue
		}
		if a := q.blocks[c.Of[0].Block].aggregates[c.Of[0].Aggregate]; a.abridged {
			a.label = c.Name
		}
	}
}
