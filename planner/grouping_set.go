package planner

import (
	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A GroupingSet answers one grouping set of a block: it says which statistics are read, and with
// which noise they are released. A block without GROUPING SETS has one.
type GroupingSet struct {
	// Reads are the statements for the protected database. Without any, the grouping set shows
	// public keys alone.
	Reads []*Read
	// Selection tells which partitions may be shown; nil if the keys are public, or there
	// are none. It is tried on the number of units of each partition that has any.
	Selection *mechanisms.GaussianSelection
	// Mechanisms has the mechanism of each integer of a partition.
	Mechanisms []mechanisms.Mechanism
	// Reduction is how the integers are released where the answer decides how much noise they
	// need; Mechanisms are nil then. Else it is nil.
	Reduction *NoiseReduction

	results
}

// Event is the release of the grouping set.
func (g *GroupingSet) Event() dp.ComposedEvent {
	var e dp.ComposedEvent
	if g.Selection != nil {
		e = append(e, g.Selection.Event())
	}
	if g.Reduction != nil {
		return append(e, g.Reduction.worst()...)
	}
	for _, m := range g.statistics {
		for _, mech := range m.levels {
			e = append(e, mech.Event())
		}
	}
	return e
}

// errorBar is the error of one output of the grouping set.
func (g *GroupingSet) errorBar(o *output, rows []integers) ErrorBar {
	bar := ErrorBar{Label: o.label, Least: -1, Most: -1}
	if _, linear := o.linear(); linear && g.Reduction == nil {
		bar.Least = o.radius(g.observed(integers{}))
		bar.Most = bar.Least
		return bar
	}
	shown := false
	for _, row := range rows {
		if g.hides(o, row, len(rows)) {
			continue
		}
		half := o.radius(g.observed(row))
		if !shown {
			bar.Least = half
		}
		shown = true
		bar.Least, bar.Most = min(bar.Least, half), max(bar.Most, half)
	}
	bar.Hidden = !shown && len(rows) > 0
	return bar
}

// selecting gives a grouping set with private keys its partition selection.
func (g *GroupingSet) selecting(s share) error {
	if !g.Private() {
		return nil
	}
	sel, err := mechanisms.GaussianSelectionFor(g.contribution.Partitions, s.rhoPico, s.deltaAtto)
	if err != nil {
		return imprecise()
	}
	g.Selection = &sel
	return nil
}
