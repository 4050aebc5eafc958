package planner

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpproxy/contribution"
	"dpproxy/dp"
)

// Loses reports whether released numbers show that a chosen limit of a measure leaves out too much for an answer. The largest limit of a
// grid never does, since somebody has allowed it.
func (a *aggregation) Loses(m *Measure, c Clip, confidence float64) bool {
	return m.Tail != nil && m.chosen() && len(c.Tail) == contribution.TailNumbers && (a.adds(m) || m.weighting.refuses()) &&
		higher(m, c) >= 0 && m.Tail.Loses([contribution.TailNumbers]*big.Int(c.Tail), confidence)
}

// higher returns the last norm of a measure whose limit could have been chosen higher, or −1.
func higher(m *Measure, c Clip) int {
	at := -1
	for i, n := range m.Norms {
		if c.Levels[i] < n.Choices-1 {
			at = i
		}
	}
	return at
}

// adds reports whether the measure is of one count or sum, so that a part of the answer is missing if a limit leaves something out.
func (a *aggregation) adds(m *Measure) bool {
	s := a.statistics[m.statistics[0]]
	_, about := s.statisticForm.(offsetSum)
	return m.weighting.leavesOut() && s.choosing() == nil && s.nodes() == 1 && !about
}

// way returns how the limit of a norm of a measure is found.
func (a *aggregation) way(m *Measure, n *Norm) contribution.Way {
	switch {
	case n.Choices < 1:
		return contribution.Public
	case a.bounds.again && a.adds(m):
		return contribution.ChosenAgain
	}
	return contribution.Chosen
}

// An Unanswered says why values of a released relation are NULL, and how to get them.
type Unanswered struct{ Message, Detail, Hint string }

// A loss is a measure whose limit leaves out too much.
type loss struct {
	m           *Measure
	set         *GroupingSet
	clip        Clip
	epsilonPico int64 // of the statement
}

// said writes the explanation; unit is the policy's name of a unit.
func (l loss) said(unit string) Unanswered {
	b, have := [contribution.TailNumbers]*big.Int(l.clip.Tail), 0.0
	for _, n := range b {
		have += float(new(big.Rat).SetInt(n))
	}
	surely := float64(l.m.Tail.Surely(b))
	if l.m.weighting.refuses() {
		return Unanswered{
			Message: isOrAre(l.set.labelsOf(l.m)) + " NULL: the limits that were chosen cut more than a tenth",
			Detail: fmt.Sprintf("Of about %s that have something, surely %s have more than one %s can count with: they would weigh less.",
				TwoDigits(have, math.Round), TwoDigits(surely, math.Floor), unit),
			Hint: l.enough(surely),
		}
	}
	scale, of := unitOf(l.set.statistics[l.m.statistics[0]])
	limit := l.m.Norms[0].Grid.Limit(l.clip.Levels[0]) * scale
	over := l.m.over(l.set, func(parts float64) string { return Number(limit / parts) })
	return Unanswered{
		Message: isOrAre(l.set.labelsOf(l.m)) + " NULL: the limit that was chosen leaves out more than a tenth",
		Detail: fmt.Sprintf("Of about %s that have something, one %s counted with at most %s%s, and surely %s have more.",
			TwoDigits(have, math.Round), unit, Number(limit), of+over, TwoDigits(surely, math.Floor)),
		Hint: l.enough(surely),
	}
}

// isOrAre makes labels a subject with its verb.
func isOrAre(labels string) string {
	if strings.Contains(labels, ", ") {
		return labels + " are"
	}
	return labels + " is"
}

// mostSuggested is the largest ε that hints suggest.
const mostSuggested = 10

// enough lists the changes that would suffice for a number of units above the limit.
func (l loss) enough(units float64) string {
	at, ways := higher(l.m, l.clip), []string(nil)
	n := l.m.Norms[at]
	times := n.Choice.Needs(units, l.clip.Levels[at], n.Choices)
	if epsilon := times * float64(l.epsilonPico) / dp.PicoPerUnit; epsilon <= mostSuggested {
		ways = append(ways, "SET dp.epsilon = "+TwoDigits(epsilon, math.Ceil))
	}
	if n.Again == nil && l.set.adds(l.m) {
		ways = append(ways, "SET dp.limit_retry = on")
	}
	fixed := fixedLimits
	if l.m.unbounded(&l.set.aggregation) {
		fixed += "; SET dp.max_sum = 1000 (or as much)"
	}
	stated := "max_rows"
	if l.set.bounds.units == 0 {
		stated += " and units"
	}
	return strings.Join(slices.Concat(ways, []string{fixed}), ", or ") + ", or ask the administrator to state " + stated + "."
}
