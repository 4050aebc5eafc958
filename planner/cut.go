package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpproxy/contribution"
)

// Cuts describes, for each measure of the block whose limits can cut a unit, what the limits leave out, by released numbers alone. unit is
// the policy's name of a unit. A plan that has not run has none, and neither has a set whose groups are all withheld.
func (b *BlockPlan) Cuts(released []*Released, unit string) []string {
	var out []string
	for i, set := range b.Sets {
		if released == nil || released[i] == nil || released[i].Clips == nil || set.withholdsAll(released[i]) {
			continue
		}
		for _, m := range set.Measures {
			if m.Tail == nil || m.Shared() {
				continue
			}
			s := m.cut(b, set, released, released[i].Clips[m.at], unit)
			switch {
			case m.family != nil:
				s = "In all grouping sets: " + s
			case len(b.Sets) > 1:
				s = "In the grouping set (" + strings.Join(set.labels(b.block), ", ") + "): " + s
			}
			out = append(out, s)
		}
	}
	return out
}

// Unanswered lists, for each measure of the block whose limit leaves out too much, the values that are NULL for this reason, at an ε of the
// statement. A plan that has not run has none, and neither has a set whose groups are all withheld.
func (b *BlockPlan) Unanswered(released []*Released, unit string, epsilonPico int64) []Unanswered {
	var out []Unanswered
	for i, set := range b.Sets {
		if released == nil || released[i] == nil || released[i].Clips == nil || set.withholdsAll(released[i]) {
			continue
		}
		for _, m := range set.Measures {
			clip := released[i].Clips[m.at]
			if !m.Shared() && !set.judgesBy(m) && set.Loses(m, clip, set.Confidence()) {
				out = append(out, loss{m, set, clip, epsilonPico}.said(unit))
			}
		}
	}
	return out
}

// Chosen states, for each grouping set whose top was chosen, by how much a group that is left out may exceed a group that is shown, at the
// released limit.
func (b *BlockPlan) Chosen(released []*Released) []string {
	var out []string
	for i, g := range b.Sets {
		if g.Top == nil || released == nil || released[i] == nil {
			continue
		}
		level := 0
		if m := g.statistics[g.Top.statistic].measure; m != nil {
			level = released[i].Clips[m.at].Levels[0]
		}
		out = append(out, fmt.Sprintf(
			"%d of %d groups are chosen by %s. One that is left out has at most %s more than one that is shown (%s %%).",
			g.Top.K, g.size, g.outputs[g.Top.output].label, g.missedAt(level), Number(100*(1-g.alpha))))
	}
	return out
}

// cut describes what the limits of the measure leave out of a grouping set.
func (m *Measure) cut(b *BlockPlan, set *GroupingSet, released []*Released, clip Clip, unit string) string {
	last, alpha := len(m.Norms)-1, atConfidence(b, released)
	e, times := excessOf(m, last, clip, 1-alpha), m.family.times(b)
	said := fmt.Sprintf("For %s, one %s counts with %s (%s)%s. %s ",
		set.labelsOf(m), unit, m.limits(set, clip), m.origin(set), times, aboveLimit(e, 1-set.alpha))
	if set.moves(m) {
		return strings.TrimSuffix(said, " ") + set.moved(m, e)
	}
	scale, of := unitOf(set.statistics[m.statistics[0]])
	switch {
	case math.Ceil(e.AtMost) < 1:
		return strings.TrimSuffix(said, " ")
	case math.IsInf(e.UpTo, 1):
		return said + unboundedExcess(e, "what it leaves out")
	}
	said += "What they have beyond that is left out: " + m.lost(e, scale, of, b.mostOfGroup(released, m, alpha))
	if times != "" {
		said += ", of totals as many times that"
	}
	return said + "."
}

// limits names the limits of the measure that can cut a unit, one for each norm.
func (m *Measure) limits(set *GroupingSet, clip Clip) string {
	var said []string
	for i, n := range m.Norms {
		if n.Choice == nil && !n.cuts {
			continue
		}
		scale, of := unitOf(m.bounding[i])
		if n.Grid.Limit(clip.Levels[i]) == 1 {
			of = strings.TrimSuffix(of, "s")
		}
		if sum, ok := m.bounding[i].statisticForm.(apartForm); ok {
			of = sum.apart(clip.Vector)
		}
		limit := n.Grid.Limit(clip.Levels[i]) * scale
		over := m.over(set, func(parts float64) string { return Grouped(limit / parts) })
		said = append(said, "at most "+Grouped(limit)+of+over)
	}
	return strings.Join(said, ", and ")
}

// fixedLimits are statements that fix limits.
const fixedLimits = "SET dp.contribution = fixed; SET dp.max_rows = 10 (or as many rows as matter of one)"

// unboundedExcess says why nothing bounds the effect of a limit, and what would bound it.
func unboundedExcess(e contribution.Excess, what string) string {
	if e.Few {
		return "So few are near that limit, as where few rows meet the conditions or none, that nothing bounds " + what + ". " +
			fixedLimits + ", or ask the administrator to state units and max_rows."
	}
	return "So many have more than that limit that nothing bounds " + what + ". " +
		fixedLimits + ", or ask the administrator to state max_rows."
}

// moved describes the effect of limits on values that are not sums. For an average the interval includes it.
func (r *results) moved(m *Measure, e contribution.Excess) string {
	said := ""
	if in := r.labelsWhere(m, isLimited); in != "" && math.Ceil(e.AtMost) >= 1 {
		if math.IsInf(e.UpTo, 1) {
			said = " " + unboundedExcess(e, "what it does to "+in)
		} else {
			said = " They count less. Their values may be smaller or larger than those of others, which moves " + in +
				" either way, by no more than is stated" + fallsOn + "."
		}
	}
	if out := r.labelsWhere(m, func(o *output) bool { return !isLimited(o) }); out != "" {
		said += " What that does to " + out + " is not in the error."
	}
	return said
}

func isLimited(o *output) bool {
	_, ok := o.estimator.(limited)
	return ok
}

// fallsOn states the assumption about units above a limit.
const fallsOn = " if their number goes on falling above the limit as steeply as just below it"

// origin says where the limits of the measure come from.
func (m *Measure) origin(set *GroupingSet) string {
	switch {
	case m.chosen():
		return "chosen for this statement"
	case m.few:
		return fmt.Sprintf("by the policy or the session: %d are too few to choose a limit", set.bounds.units)
	}
	return "by the policy or the session"
}

// aboveLimit says how many units are above the limit.
func aboveLimit(e contribution.Excess, confidence float64) string {
	most, percent := Grouped(twoDigits(math.Ceil(e.AtMost), math.Ceil)), Number(100*confidence)
	switch {
	case most == "0":
		return fmt.Sprintf("None has more (%s %%).", percent)
	case e.Units < 1:
		return fmt.Sprintf("Perhaps none has more; at most %s have (%s %%).", most, percent)
	}
	have := "have"
	if e.Units < 2 {
		have = "has"
	}
	return fmt.Sprintf("About %s %s more, at most %s (%s %%).", Grouped(twoDigits(e.Units, math.Round)), have, most, percent)
}

// lost says how much is left out, in units of the norm. A Euclidean norm over groups bounds each group but not their sum. Errors include
// the part of a group, if what is left out is spread over the groups as the rows are.
func (m *Measure) lost(e contribution.Excess, scale float64, of string, group float64) string {
	most := Grouped(math.Ceil(e.UpTo) * scale)
	about := Grouped(twoDigits(math.Round(e.About)*scale, math.Round))
	each := Grouped(group*scale) + of + " of each group" + map[bool]string{true: " or total"}[m.family != nil] +
		", spread over groups as all rows are,"
	spread := group > 0 && m.keyed && !m.byGroup.holds() && Grouped(group*scale) != most
	if m.keyed && !m.laplace || m.byGroup.holds() {
		if spread {
			return "at most " + each + " and " + most + " of a group that has it all," + fallsOn
		}
		return "at most " + most + of + " of each group" + fallsOn
	}
	said := "at most " + most
	if e.About >= 1 {
		said, of = "about "+about+of+", "+said, ""
	}
	if said += of; spread {
		said += " in all groups, and at most " + each
	}
	return said + fallsOn
}

// mostOfGroup bounds what is left out of a measure in one group, or in a total whose units have the weights of groups, as errors include
// it at an error probability. It returns 0 if nothing is known of groups.
func (b *BlockPlan) mostOfGroup(released []*Released, m *Measure, alpha float64) (most float64) {
	for j, set := range b.Sets {
		if !set.Private() && (released[j] == nil || len(released[j].Rows) < set.size) {
			return 0
		}
	}
	for j, rows := range b.consistent(released) {
		if rows == nil {
			continue
		}
		set := b.Sets[j]
		observable := set.observable(rows)
		for i, s := range set.statistics {
			if s.measure == nil || s.measure != m && (m.family == nil || s.measure.family != m.family) {
				continue
			}
			for _, row := range observable {
				most = math.Max(most, set.observed(row).at(alpha).upTo(i))
			}
		}
	}
	return most
}

// over says what a norm over groups means for one group; part writes the limit divided by a number.
func (m *Measure) over(set *GroupingSet, part func(parts float64) string) string {
	n := float64(set.bounds.penalised)
	switch {
	case !m.keyed:
		return ""
	case m.byGroup.holds():
		return " in each group"
	case set.Private() || n == 1:
		return " in one group"
	case m.laplace:
		return fmt.Sprintf(" in one group, or %s in each of %s", part(n), Number(n))
	}
	return fmt.Sprintf(" in one group, or %s in each of %s", part(math.Sqrt(n)), Number(n))
}

// unitOf returns the value of a unit of the norm of a statistic, and the name of that unit.
func unitOf(s *statistic) (scale float64, name string) {
	switch f := s.statisticForm.(type) {
	case valueSum:
		return float(f.values.step), ""
	case offsetSum:
		return float(f.centred().Unit), ""
	case squareFrom:
		return float(f.squares().Unit), ""
	case unitCount:
		return 1, ""
	case differentCount:
		return 1, " values"
	}
	return 1, " rows"
}

// labelsOf names the outputs that are computed from a measure.
func (r *results) labelsOf(m *Measure) string {
	if labels := r.labelsWhere(m, func(*output) bool { return true }); labels != "" {
		return labels
	}
	return r.statistics[m.statistics[0]].String()
}

// labelsWhere names the outputs of a measure for which a predicate holds.
func (r *results) labelsWhere(m *Measure, holds func(*output) bool) string {
	return strings.Join(r.labelsIn(m, holds), ", ")
}

func (r *results) labelsIn(m *Measure, holds func(*output) bool) (out []string) {
	for i := range r.outputs {
		o := &r.outputs[i]
		if o.report == "" && r.statistics[o.statistics()[0]].measure == m && holds(o) && !slices.Contains(out, o.label) {
			out = append(out, o.label)
		}
	}
	return out
}

// TwoDigits writes an estimate, rounded to two significant digits.
func TwoDigits(f float64, round func(float64) float64) string { return Number(twoDigits(f, round)) }

func twoDigits(f float64, round func(float64) float64) float64 {
	if f <= 0 {
		return 0
	}
	const slack = 1e-9 // of a double that should be whole
	scale := math.Pow(10, math.Floor(math.Log10(f))-1)
	whole := f / scale
	if nearest := math.Round(whole); math.Abs(whole-nearest) < slack {
		whole = nearest
	}
	return round(whole) * scale
}
