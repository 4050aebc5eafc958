package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpproxy/dp"
)

// explainBounds writes how much a unit adds to the grouping set.
func (g *GroupingSet) explainBounds(w *tree, depth int) {
	if g.bounds.unique {
		w.line(depth, "contribution of one unit: one row, by a key")
		return
	}
	if g.bounds.proven {
		rows := "one row"
		if g.bounds.rows > 1 {
			rows = fmt.Sprintf("at most %d rows", g.bounds.rows)
		}
		w.line(depth, "contribution of one unit: %s in a group, by keys and public tables", rows)
	}
	for _, m := range g.Measures {
		m.explain(w, depth, g)
	}
}

// explain writes how much a unit adds to the outputs of a measure, a line for each norm, and what is released about the limits.
func (m *Measure) explain(w *tree, depth int, g *GroupingSet) {
	for i, n := range m.Norms {
		w.line(depth, "contribution of one unit to %s: %s", g.labelsOf(m), m.describe(i, g))
		if n.Choice != nil && !m.Shared() {
			w.detail(depth+1, "C is chosen: %v", n.Choice)
			if n.Again != nil {
				w.detail(depth+1, "where it leaves out too much, C is chosen once more: %v", n.Again)
			}
			if said := g.reach(m, n); said != "" {
				w.line(depth+1, "%s", said)
			}
		}
	}
	if m.Tail != nil && !m.Shared() {
		w.detail(depth+1, "units above the limit are counted: %v", m.Tail)
	}
}

// reach says how large a limit can be chosen if there are as many units as the policy states and all have the same norm. It is empty if
// every limit can be chosen.
func (g *GroupingSet) reach(m *Measure, n Norm) string {
	units := g.bounds.units
	if units < 1 || !g.adds(m) {
		return ""
	}
	level := n.Choice.Reach(units, n.Choices)
	if level == n.Choices-1 {
		return ""
	}
	scale, of := unitOf(g.statistics[m.statistics[0]])
	most := Number(n.Grid.Limit(level)*scale) + of
	if level > 0 {
		return fmt.Sprintf("about %d units are enough for a C of at most %s", units, most)
	}
	times := TwoDigits(n.Choice.Needs(float64(units), 0, n.Choices), math.Ceil)
	return fmt.Sprintf("about %d units are too few to choose a C above %s: values are NULL if most have more, unless dp.epsilon is "+
		"%s times as large or a limit is stated", units, most, times)
}

// An apartForm describes the quantity that its norms are of, with one of its centres, or with all.
type apartForm interface{ apart(centre int) string }

// allCentres describes a quantity whose centre is not chosen yet.
const allCentres = -1

// describe writes the limit of a norm, or the limits among which it is chosen.
func (m *Measure) describe(norm int, g *GroupingSet) string {
	n, s := m.Norms[norm], m.bounding[norm]
	scale, of := unitOf(s)
	if w, shared := m.weighting.(withFinest); shared {
		return describeShared(m, w.wider(), g, scale, of)
	}
	if sum, ok := s.statisticForm.(apartForm); ok {
		centre := 0
		if n.Choice != nil {
			centre = allCentres
		}
		of = sum.apart(centre)
	}
	limit := func(level int) string { return Number(n.Grid.Limit(level) * scale) }
	if n.Choice == nil {
		over := m.over(g, func(parts float64) string { return Number(n.Grid.Limit(n.Fixed) * scale / parts) })
		s := "at most " + limit(n.Fixed) + of + over
		if !n.cuts {
			s += ", by keys and public tables"
		}
		return s
	}
	var limits []string
	for j := range min(n.Choices, 5) {
		limits = append(limits, limit(j))
	}
	if n.Choices > 5 {
		limits = append(limits, "...", limit(n.Choices-1))
	}
	return fmt.Sprintf("at most C%s%s, C one of %s", of,
		m.over(g, func(parts float64) string { return "C / " + Number(parts) }), strings.Join(limits, ", "))
}

// describeShared writes the limit of a coarser grouping set as a multiple of the limit of the finest set.
func describeShared(m *Measure, times float64, g *GroupingSet, scale float64, of string) string {
	n := m.Norms[0]
	if n.Choice == nil {
		limit := n.Grid.Limit(n.Fixed) * times * scale
		over := m.over(g, func(parts float64) string { return Number(limit / parts) })
		return "at most " + Number(limit) + of + over + ", with the weights of the set with all keys"
	}
	over := m.over(g, func(parts float64) string { return Number(times/parts) + " C" })
	if times == 1 {
		return "at most C" + of + over + ", with the weights of the set with all keys"
	}
	return "at most " + Number(times) + " C" + of + over + ", with the weights of the set with all keys"
}

// changeAndNoise writes how much a unit changes a statistic, and its noise.
func (g *GroupingSet) changeAndNoise(s *statistic) string {
	if s.choosing() != nil {
		return g.choiceAndNoise(s)
	}
	if s.measure == nil {
		noise := "as precise as needed"
		if g.Reduction == nil {
			var out []string
			for _, mech := range s.levels {
				out = append(out, mech.String())
			}
			noise = strings.Join(slices.Compact(out), ", ")
		}
		return fmt.Sprintf("l0=%d linf=%d, %s", s.sensitivity.L0, s.sensitivity.LInf, noise)
	}
	switch {
	case g.Reduction != nil:
		return "as precise as needed"
	case s.measure.chosen():
		budget := s.share()
		return fmt.Sprintf("%s noise for %s=%s", budget.kind, budget.measure().Symbol(), Number(float64(budget.pico())/dp.PicoPerUnit))
	}
	var out []string
	clips := g.leastClips()
	for tree := range s.shape() {
		noise := s.noiseAt(tree, clips)
		text := noise.Of.String()
		if noise.Bits > 0 {
			text += fmt.Sprintf(" in steps of 1/2^%d", noise.Bits)
		}
		out = append(out, text)
	}
	return strings.Join(slices.Compact(out), ", ")
}

// choiceAndNoise writes how much a unit changes a score, the choices, and the noise of the number of rows.
func (g *GroupingSet) choiceAndNoise(s *statistic) string {
	clips, _ := s.comparedAt(g.leastClips())
	sensitivity, budget := "of one row", s.budget
	if s.measure != nil {
		sensitivity, budget = "C", s.share()
		if !s.measure.chosen() {
			sensitivity = Number(s.measure.Norms[0].Grid.Limit(clips[s.measure.at].Levels[0]))
		}
	}
	picos := must(s.picos(budget))
	times := ""
	if n := s.choosing().choices(); n > 1 {
		times = fmt.Sprintf("%d times ", n)
	}
	count := Number(float64(picos[0]) / dp.PicoPerUnit)
	return fmt.Sprintf("weight %s, %s%v, and the number of rows with %s noise for %s=%s",
		sensitivity, times, s.choosersAt(clips)[0].Event(), budget.kind, budget.measure().Symbol(), count)
}

// contributionTo says how much a unit can add to an output.
func (g *GroupingSet) contributionTo(o *output) string {
	if g.bounds.unique {
		return "one row, by a key"
	}
	var said []string
	for _, m := range g.Measures {
		for i := range m.Norms {
			if g.uses(o, m) {
				said = append(said, m.describe(i, g))
			}
		}
	}
	return strings.Join(said, "; ")
}

// uses reports whether an output is computed from statistics of a measure.
func (g *GroupingSet) uses(o *output, m *Measure) bool {
	for _, at := range o.statistics() {
		if g.statistics[at].measure == m {
			return true
		}
	}
	return false
}

// knownAfter describes an error of which nothing is known before the answer.
const knownAfter = "known with the answer"
