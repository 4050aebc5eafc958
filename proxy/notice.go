package proxy

import (
	"encoding/json"
	"slices"
	"strings"

	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/wire"
)

// smallGroups counts the values that are NULL since their groups show too few rows, and those that
// could be.
func smallGroups(plan *planner.Plan, released [][]*planner.Released) (hidden, all int) {
	for i, b := range plan.Blocks {
		h, a := b.SmallGroups(released[i])
		hidden, all = hidden+h, all+a
	}
	return hidden, all
}

// warnings say which values are no answers, and what would do.
func warnings(plan *planner.Plan, released [][]*planner.Released, epsilonPico int64) []wire.Notice {
	var out []wire.Notice
	for i, b := range plan.Blocks {
		for _, u := range b.Unanswered(released[i], plan.Unit(), epsilonPico) {
			n := wire.Notice{Severity: "WARNING", Code: "01000", Message: u.Message, Detail: u.Detail, Hint: u.Hint}
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// leftOut tells of all that the errors do not include.
func leftOut(plan *planner.Plan, released [][]*planner.Released) []string {
	var said []string
	for _, s := range plan.LeftOut() {
		said = append(said, strings.ToUpper(s[:1])+s[1:]+". The error does not include what that leaves out.")
	}
	for _, s := range plan.Moved() {
		said = append(said, strings.ToUpper(s[:1])+s[1:]+". The error does not include what that moves.")
	}
	said = append(said, filledOnes(planner.MovedValues(plan))...)
	for _, s := range plan.UnitsCompared() {
		said = append(said, strings.ToUpper(s[:1])+s[1:]+".")
	}
	return append(append(said, plan.Remarks()...), plan.Withheld(released)...)
}

// limitsOf tells which limits and groups were chosen, and how much they leave out.
func limitsOf(plan *planner.Plan, released [][]*planner.Released) (said []string) {
	for i, b := range plan.Blocks {
		said = append(said, b.Chosen(released[i])...)
		said = append(said, b.Cuts(released[i], plan.Unit())...)
	}
	return said
}

// howKnown tells where errors come from, if not from the law of the noise in the values that are shown.
func howKnown(plan *planner.Plan, released [][]*planner.Released) (said []string) {
	if slices.ContainsFunc(plan.Blocks, (*planner.BlockPlan).Consistent) {
		said = append(said, "No cell of a count or sum is shown negative, and they add up. Errors are of the cells as they were measured.")
	}
	return append(said, planner.RanksOf(plan, released)...)
}

// errorBars tells of the errors of the answers, each once.
func errorBars(plan *planner.Plan, released [][]*planner.Released, percent string) (said []string) {
	for _, bar := range planner.Errors(plan, released) {
		if s := bar.Sentence(percent); !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	return said
}

// textKept bounds the texts that are kept of a statement, in bytes.
const textKept = 4096

// abridged shortens a text to be kept: a statement, or its errors, which name expressions.
func abridged(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= textKept {
		return strings.Clone(text) // and not all that it is a part of
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:textKept-len(ellipsis)], "") + ellipsis
}

// filled is a text, nil if it is empty.
func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// pico writes an amount of 10⁻¹².
func pico(n int64) json.Number { return json.Number(dp.Decimal(n, 12)) }
