package planner

import (
	"slices"

	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// maxStated bounds what a number in the policy can mean.
const maxStated = 1_000_000

// statedRows is how many rows of a unit count with the same values of the keys, by a number that
// the policy states for its tables: as many times as public relations multiply each of them.
func (b *block) statedRows(stated int64, keys []scalar.Expr, limits policy.Limits) int64 {
	times, known := b.source.Multiplicity(keys, limits)
	return multiplied(stated, times, known)
}

// statedGroups is in how many groups a unit counts, likewise: public keys tell apart the rows that public
// relations make of one.
func (b *block) statedGroups(stated int64, keys []scalar.Expr, limits policy.Limits) int64 {
	public := func(e scalar.Expr) bool { return slices.ContainsFunc(e.Columns(), b.source.IsPublic) }
	if !slices.ContainsFunc(keys, public) {
		return stated
	}
	times, known := b.source.Multiplicity(nil, limits)
	return multiplied(stated, times, known)
}

// multiplied is a stated number so many times, if that is known, at most maxStated.
func multiplied(stated, times int64, known bool) int64 {
	if !known || stated < 1 {
		return stated
	}
	return max(stated, min(times, maxStated/stated)*stated)
}
