package planner

import "math"

// An ErrorBar is the error of one aggregate at the plan's confidence, for each row
// of the released relation alone.
type ErrorBar struct {
	Label string // e.g. "avg(cost)"
	// Least and Most are the half-widths of the narrowest and the widest interval
	// over the rows, in units of the value (days or seconds of times). They are negative
	// where they are known with the answer only, or not at all.
	Least, Most float64
}

// String writes the error as "count(*) ± 20" or "avg(cost) ± 2.5 to 31".
func (e ErrorBar) String() string {
	if e.Least < 0 {
		return e.Label + " within bounds"
	}
	if math.IsInf(e.Least, 1) {
		return e.Label + " of unknown error"
	}
	s := e.Label + " ± " + Number(e.Least)
	if most := Number(e.Most); most != Number(e.Least) {
		s += " to " + most
	}
	return s
}

// Errors returns the error of each aggregate, over all grouping sets. Released is what was
// released, or nil for a plan that was not run. Clamping bias is not part of it.
func (b *BlockPlan) Errors(released []*Released) []ErrorBar {
	var bars []ErrorBar
	for i, a := range b.block.aggregates {
		if a.report != "" {
			continue
		}
		var bar ErrorBar
		for j, p := range b.Sets {
			var rows []integers
			if released != nil {
				rows = released[j].integers()
			}
			one := p.errorBar(&p.outputs[i], rows)
			if j == 0 {
				bar = one
				continue
			}
			bar.Least, bar.Most = min(bar.Least, one.Least), max(bar.Most, one.Most)
		}
		bars = append(bars, bar)
	}
	return bars
}

// errorBar is the error of one output of the grouping set.
func (p *GroupingSet) errorBar(o *output, rows []integers) ErrorBar {
	bar := ErrorBar{Label: o.label, Least: -1, Most: -1}
	if _, linear := o.linear(); linear && p.Reduction == nil {
		bar.Least = o.radius(p.observed(integers{}))
		bar.Most = bar.Least
		return bar
	}
	for i, row := range rows {
		half := o.radius(p.observed(row))
		if i == 0 {
			bar.Least = half
		}
		bar.Least, bar.Most = min(bar.Least, half), max(bar.Most, half)
	}
	return bar
}

// refinable reports whether an output is computed from sums and counts, so that its error
// follows from theirs, and gets smaller with it.
func (p *GroupingSet) refinable(o *output) bool {
	for _, i := range o.statistics() {
		if len(p.statistics[i].shape()) > 1 {
			return false
		}
	}
	return true
}
