package planner

import (
	"math"
	"slices"

	"dpproxy/parser/ast"
)

// The errors of a block are those of its aggregates, each in one row. A sum of groups, a maximum, a ratio have other errors. And if
// released values choose which rows are shown, rows of the largest noise are chosen.

// Errors returns the errors of all blocks, and those of output columns that are computed of them. Released has the relations of
// each block, or is nil for a plan that was not run.
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

// computedErrors are the errors of output columns that are not of one aggregate.
func computedErrors(p *Plan, released [][]*Released) (bars []ErrorBar) {
	if !noisy(p) {
		return nil
	}
	for _, c := range p.computed {
		bar := ErrorBar{Label: c.Name, Least: math.Inf(1), Most: math.Inf(1)}
		for i, at := range c.Of {
			b := p.Blocks[at.Block]
			var of []*Released
			if released != nil {
				of = released[at.Block]
			}
			one := b.errorOf(at.Aggregate, of)
			if one.Known() {
				one.Least, one.Most = one.Least+c.Plus, one.Most+c.Plus
			}
			if len(c.Of) == 1 && one.sameAs(b.errorOf(at.Aggregate, of)) {
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

// noisy reports whether any block has values that are not exact.
func noisy(p *Plan) bool {
	for _, b := range p.Blocks {
		if !b.none && slices.ContainsFunc(b.Sets, (*GroupingSet).answers) {
			return true
		}
	}
	return false
}

// atConfidence is one minus the confidence of intervals of the rows of a block: one of them alone fails with that probability, and
// if released values choose which are shown, any of all. Before the release of private groups it is 0: their number is not known.
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

// whose says of which rows an error is, where a statement computes something of them or chooses among them.
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

// noteComputed marks the blocks of which output columns are computed.
func (q *Query) noteComputed(columns []ast.Computed) {
	for _, c := range columns {
		for _, at := range c.Of {
			b := q.blocks[at.Block]
			b.chosen = b.chosen || c.Chosen
		}
		for _, b := range q.blocks {
			b.computed = b.computed || c.Of == nil
		}
	}
}

// title calls aggregates by the names of their output columns where the call, as it is abridged, may be that of another one.
func (q *Query) title(columns []ast.Title) {
	for _, c := range columns {
		if a := q.blocks[c.Of.Block].aggregates[c.Of.Aggregate]; a.abridged {
			a.label = c.Name
		}
	}
}
