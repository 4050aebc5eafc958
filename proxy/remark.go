package proxy

import (
	"slices"

	"dpproxy/parser"
)

// ownOutside is left out of the errors of a statement that uses released results.
const ownOutside = "what the noise of released results moves"

// ownErrors is said of a statement that uses released results.
const ownErrors = "The released results that it uses have errors of their own, told before. Which rows they move is not in this error."

// ownRanks is said of one that ranks rows by them.
const ownRanks = "Its ranks are told by released values: tiles are of nearly equal size, and rows of equal value are in the same one."

// ownGroups is said of one that uses a value of each group.
const ownGroups = "Of a group that is not shown there is no value: it is NULL in all its rows."

// remark is what is said of the answer behind the results that it uses.
func (s *evaluation) remark() string {
	said := ownErrors
	if s.has(parser.AsGroups) {
		said += " " + ownGroups
	}
	if s.has(parser.AsRanks) {
		said += " " + ownRanks
	}
	return said
}

// uses notes that the statement uses released results.
func (a *account) uses(p *part) {
	if p != nil && p.remark != "" {
		a.outside, a.leftOut = append([]string{ownOutside}, a.outside...), append(a.leftOut, p.remark)
	}
}

func (s *evaluation) has(as parser.As) bool {
	return slices.ContainsFunc(s.let.Bindings, func(b parser.Binding) bool { return b.As == as })
}
