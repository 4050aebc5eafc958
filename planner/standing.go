package planner

import (
	"slices"
	"strings"
)

// standings are what EXPLAIN says of each standing.
var standings = [...]string{
	Remembered: "remembered, and so free",
	Shared:     "drawn once, with another block",
	Unpaid:     "remembered, and paid for by the analyst's own budget alone",
	New:        "new",
}

// standingsOf are how the numbers of a block stand: one for each of its parts ([PartsOf]), or one for all of it.
type standingsOf []Standing

// standingsAt returns the standings of a block of a plan; nil if all of it is new.
func standingsAt(p *Plan, block int) standingsOf {
	if block >= len(p.Standings) || !slices.ContainsFunc(p.Standings[block], func(s Standing) bool { return s != New }) {
		return nil
	}
	return p.Standings[block]
}

// of returns the standing of a statistic of a block.
func (l standingsOf) of(b *BlockPlan, s *statistic) Standing {
	for i, p := range PartsOf(b) {
		if slices.Contains(p.statistics, s) && i < len(l) {
			return l[i]
		}
	}
	return l[0]
}

// suffix is what EXPLAIN adds to a statistic.
func (l standingsOf) suffix(b *BlockPlan, s *statistic) string {
	if l == nil {
		return ""
	}
	return "; " + standings[l.of(b, s)]
}

// explain names the values by their standings.
func (l standingsOf) explain(w *tree, b *BlockPlan) {
	if l == nil {
		return
	}
	if len(PartsOf(b)) != len(l) {
		w.line(2, "%s: all of it", standings[l[0]])
		return
	}
	var labels [len(standings)][]string
	g := b.Sets[0]
	for i := range g.outputs {
		o := &g.outputs[i]
		if o.report != "" {
			continue
		}
		last := Remembered
		for _, s := range o.statistics() {
			last = max(last, l.of(b, g.statistics[s]))
		}
		labels[last] = append(labels[last], o.label)
	}
	for s, list := range labels {
		if len(list) > 0 {
			w.line(2, "%s: %s", standings[s], strings.Join(list, ", "))
		}
	}
}
