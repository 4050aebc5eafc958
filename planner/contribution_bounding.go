package planner

import (
	"slices"

	"dpproxy/dp"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// contribution bounds the contribution of a unit to a grouping set: by proof, or by the policy,
// which the analyst's settings can only lower. A proof is worth more than a limit: no row has to
// be dropped, so that the answer has no bias, and no row is hashed.
//
//   - A unit with one row in all (unique) needs no bound.
//   - Where the unit and the keys fix a row, it has one row in each group.
//   - Where the unit fixes every key, all of its rows are in one group.
func (b *block) contribution(p *partitions, s Settings, unit string) (contribution, error) {
	c := contribution{Contribution: dp.Contribution{Partitions: 1, Rows: 1}, maxSum: s.MaxSum}
	if c.unique = b.source.Unique(); c.unique {
		return c, nil
	}
	var keys []scalar.Expr
	for _, i := range p.keys {
		keys = append(keys, b.keys[i].expr)
	}
	if !b.source.Fixes(keys) {
		c.choosesRows = true
		c.Rows = lower(b.statedRows(b.source.MaxRows(), keys, s.Limits), s.MaxRows)
		if c.Rows < 1 {
			return c, pgerr.New(pgerr.NoContribution, "nothing bounds how many rows of one %s may count", unit).At(b.at).
				WithHint("The administrator can set max_rows_per_group for %s.", b.source.Told()[0])
		}
	}
	if slices.ContainsFunc(keys, func(e scalar.Expr) bool { return !b.source.PerUnit(e) }) {
		most := lower(b.statedGroups(b.source.MaxPartitions(), keys, s.Limits), s.MaxPartitions)
		if most < 1 && p.size < 1 {
			return c, pgerr.New(pgerr.NoContribution, "nothing bounds in how many groups one %s may count", unit).At(b.keys[p.keys[0]].at).
				WithHint("The administrator can set max_groups_contributed for %s.", b.source.Told()[0])
		}
		c.Partitions = max(1, lower(most, int64(p.size)))
		c.choosesPartitions = p.Private() || c.Partitions < int64(p.size)
	}
	return c, nil
}

// checkCuts refuses to say how many units count for less than they have, where that is not measured: the
// rows and groups that count are chosen, a sum is clamped, or rows are left out before they are counted.
func (b *block) checkCuts(c contribution, unit string) error {
	if !c.choosesRows && !c.choosesPartitions && c.maxSum == nil && len(b.source.Cuts()) == 0 {
		return nil
	}
	for _, a := range b.aggregates {
		if a.asksCut() {
			return pgerr.New(pgerr.FeatureNotSupported, "how many of the units (%s) count for less than they have is not measured here",
				unit).At(a.at).WithHint("dp.%s is known where keys prove that a unit has no more rows and groups than count.", a.report)
		}
	}
	return nil
}

// lower returns the smaller of two limits of which 0 is none: who counts fewer rows of a unit
// trades bias for less noise, which is the analyst's own choice.
func lower(a, b int64) int64 {
	if a < 1 || b > 0 && b < a {
		return b
	}
	return a
}
