package planner

import (
	"slices"

	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// unitBounds returns what is known of the rows of a unit in a grouping set. A proof is worth more than a limit: nothing is left out,
// nothing is chosen, and the whole budget is for the answer.
//
//   - A unit with one row in total (unique) needs no limit, unless its values are counts and sums (single).
//   - If the unit and the keys determine the row, a unit has one row in each group.
//   - If the unit determines every key, all of its rows are in one group.
func (b *block) unitBounds(p *partitions, s Settings, unit string) (unitBounds, error) {
	c := unitBounds{
		maxSum: s.MaxSum, units: b.source.Units(), again: s.LimitRetry, rows: maxGroupRows, groups: 1, penalised: max(p.size, 1),
		counted: b.hasCounts(),
	}
	if p.Private() {
		c.penalised = privateGroups
	}
	if err := b.checkCuts(unit); err != nil {
		return c, err
	}
	loose := c.counted && b.adds() || b.computes()
	adds := b.source.Unique() && (s.MaxSum != nil && b.sums() || loose)
	if c.unique = b.source.Unique() && !adds; c.unique {
		return c, nil
	}
	var keys []scalar.Expr
	for _, i := range p.keys {
		keys = append(keys, b.keys[i].expr)
	}
	if c.proven = b.source.Fixes(keys); c.proven {
		c.rows = 1
	}
	if c.single = adds && loose; c.single {
		c.rows, c.proven = 1, true
	}
	if !c.single && slices.ContainsFunc(keys, func(e scalar.Expr) bool { return !b.source.PerUnit(e) }) {
		c.groups = maxUnitGroups
		if !p.Private() {
			c.groups = max(int64(p.size), 1)
		}
	}
	if n, known := b.source.RowsPerUnit(s.Limits); known && n < c.rows {
		c.rows, c.proven = n, true
	}
	c.limit = b.limit(keys, s)
	switch {
	case s.Contribution == FixedContribution && c.limit.rows < 1 && !c.proven:
		return c, pgerr.New(pgerr.NoContribution, "no number says how many rows of one %s count", unit).At(b.at).
			WithHint("SET dp.max_rows, or SET dp.contribution = auto.")
	case s.Contribution == "":
		c.limit.fixed = b.source.MaxRows() > 0 && c.limit.rows > 0 && !adds || s.MaxRows > 0 && s.MaxPartitions > 0
	default:
		c.limit.fixed = s.Contribution == FixedContribution
	}
	return c, nil
}

// checkCuts refuses to report how many units are cut if rows are left out before they are counted.
func (b *block) checkCuts(unit string) error {
	ofUnits := func(c source.Cut) bool { return c.Nobody == "" }
	if !slices.ContainsFunc(b.source.Cuts(), ofUnits) {
		return nil
	}
	for _, a := range b.aggregates {
		if a.asksCut() {
			return pgerr.New(pgerr.FeatureNotSupported, "how many of the units (%s) count for less than they have is not measured here",
				unit).At(a.at).
				WithHint("Rows are left out before they are counted: EXPLAIN tells which. Ask without that join or sub-select.")
		}
	}
	return nil
}

// limit returns the limits of the policy and the analyst. The numbers of the policy refer to protected rows, which joins with public rows
// may repeat.
func (b *block) limit(keys []scalar.Expr, s Settings) limit {
	stated := lower(b.source.MaxRows(), b.source.AutoRows())
	return limit{
		rows:   lower(b.statedRows(stated, keys, s.Limits), s.MaxRows),
		groups: lower(b.statedGroups(b.source.MaxPartitions(), keys, s.Limits), s.MaxPartitions),
	}
}

// sums reports whether values are added up.
func (b *block) sums() bool {
	return slices.ContainsFunc(b.aggregates, func(a *aggregate) bool {
		switch a.form.(type) {
		case sumOf, averageOf:
			return true
		}
		return false
	})
}

// adds reports whether values, or products of them, are added up.
func (b *block) adds() bool { return b.sums() || slices.ContainsFunc(b.aggregates, hasMoments) }

func hasMoments(a *aggregate) bool {
	switch a.form.(type) {
	case spreadOf, pairOf:
		return true
	}
	return false
}

// computes reports whether some average or second moment has an argument whose bounds result from arithmetic. Limits for it are chosen even
// if each unit has one row.
func (b *block) computes() bool {
	return slices.ContainsFunc(b.aggregates, func(a *aggregate) bool {
		_, averages := a.form.(averageOf)
		return (averages || hasMoments(a)) && slices.ContainsFunc(a.form.overRows()[:momentArguments(a.form)], combined)
	})
}

// momentArguments returns how many of the expressions over rows are values; filters come after them.
func momentArguments(f form) int {
	if _, of := f.(pairOf); of {
		return 2
	}
	return 1
}

func combined(x scalar.Expr) bool { return x != nil && scalar.Combined(x) }

// hasCounts reports whether values are counts or sums over rows of a unit. No bound suits them all, so limits of their sums are chosen even
// if each unit has one row.
func (b *block) hasCounts() bool {
	return slices.ContainsFunc(b.source.Cuts(), func(c source.Cut) bool { return c.Grouped })
}

// lower returns the smaller of two limits, where 0 is no limit. An analyst who counts fewer rows of a unit trades bias for less noise.
func lower(a, b int64) int64 {
	if a < 1 || b > 0 && b < a {
		return b
	}
	return a
}
