package planner

import (
	"slices"

	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// maxStated bounds the effect of a number in the policy.
const maxStated = 1_000_000

// statedRows bounds the rows of a unit with the same values of the keys, by a number that the policy states for its tables and the number
// of rows that joins with public relations make from each row.
func (b *block) statedRows(stated int64, keys []scalar.Expr, limits policy.Limits) int64 {
	times, known := b.source.Multiplicity(keys, limits)
	return multiplied(stated, times, known)
}

// statedGroups likewise bounds the groups of a unit: public keys distinguish the rows that public relations make from one row.
func (b *block) statedGroups(stated int64, keys []scalar.Expr, limits policy.Limits) int64 {
	public := func(e scalar.Expr) bool { return slices.ContainsFunc(e.Columns(), b.source.IsPublic) }
	if !slices.ContainsFunc(keys, public) {
		return stated
	}
	times, known := b.source.Multiplicity(nil, limits)
	return multiplied(stated, times, known)
}

// multiplied multiplies a stated number by a known factor, up to maxStated.
func multiplied(stated, times int64, known bool) int64 {
	if !known || stated < 1 {
		return stated
	}
	return max(stated, min(times, maxStated/stated)*stated)
}
