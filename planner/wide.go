package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpproxy/planner/scalar"
)

// WideExtents reports computed values whose bounds, by arithmetic or by the policy, are so wide that an answer shows it: the error is more
// than half of the bounds, or of the value. The text says which bounds to write; it is "" if there are no such values.
func WideExtents(p *Plan, released [][]*Released) string {
	var said []string
	for i, b := range p.Blocks {
		if b.none || released[i] == nil {
			continue
		}
		for j, rows := range b.judged(released[i]) {
			for _, s := range wideOf(b.Sets[j], rows) {
				if !slices.Contains(said, s) {
					said = append(said, s)
				}
			}
		}
	}
	if said == nil {
		return ""
	}
	return "By their bounds values can be anywhere in " + strings.Join(said, " and ") +
		". Bounds nearer to them have a smaller error: for all statements those that the administrator gives an expression over the " +
		"columns of one table (derived in docs/policy.md), for this one " + clampOf("x") + "."
}

// wideOf lists such bounds of a grouping set.
func wideOf(g *GroupingSet, rows []integers) (said []string) {
	for i := range g.outputs {
		o := &g.outputs[i]
		if o.report != "" {
			continue
		}
		for _, t := range o.cutTerms() {
			declared := t.declared()
			if t.values.technical || t.values.step == nil || !scalar.Arithmetic(t.arg) && declared == "" {
				continue
			}
			wide := func(row integers) bool { return !g.hides(o, row, len(rows)) && errsBeyond(o, g.observed(row), t) }
			if slices.ContainsFunc(rows, wide) {
				said = append(said, fmt.Sprintf("%s of %s%s", o.boundsOf(t), o.label, declared))
			}
		}
	}
	return said
}

// errsBeyond reports whether the error of a value is more than half of the value, or, unless it is a sum, more than half of the bounds of a
// term, which are the bounds of a row. A value that is NULL, or known by its rank, has no such error.
func errsBeyond(o *output, r observation, t term) bool {
	half, value := o.radius(r), math.Abs(o.number(r))
	extent := float(t.values.value(t.values.high)) - float(t.values.value(t.values.low))
	_, sum := o.linear()
	return !math.IsNaN(value) && (half > value/2 || !sum && half > extent/2)
}
