package planner

import (
	"math/big"
)

// unitBounds is what is known of the rows of a unit in one grouping set before anything is read.
type unitBounds struct {
	// unique says that a unit is proved to have at most one row in total.
	unique bool
	// single says the same for rows whose values are counts or sums over rows. Since no number of rows bounds these values, limits of their
	// sums are chosen.
	single bool
	// counted says that values are counts or sums over rows of a unit.
	counted bool
	// rows bounds the rows of a unit in a group, and groups the groups of a unit. Further rows of a unit are not added up, whether a proof
	// or a limit bounds them.
	rows, groups int64
	// proven says that rows is proved by keys and by sizes of public relations on the mirror; otherwise it is a technical limit.
	proven bool
	// limit is stated by the policy or the analyst.
	limit limit
	// maxSum bounds the sum that a unit adds to a partition, in the unit of the value; nil is no bound.
	maxSum *big.Rat
	// units is the approximate number of units; 0 is unknown.
	units int64
	// again says that a limit that leaves out too much is chosen once more.
	again bool
	// penalised is the number of groups with noise, which determines the price of a larger limit.
	penalised int
}

// A limit bounds the rows of a unit in a group, and its groups; 0 is no bound.
type limit struct {
	rows, groups int64
	// fixed says that the limit is used; otherwise it ends the grid from which a limit is chosen.
	fixed bool
}

const (
	// maxGroupRows bounds the rows of a unit that are counted in a group.
	maxGroupRows = 1_000_000
	// maxUnitGroups bounds the private groups of a unit.
	maxUnitGroups = 4096
	// privateGroups replaces the number of groups if it is not known.
	privateGroups = 64
)

// limited returns the rows of a unit that can count in a group, and its groups, within the limit.
func (c unitBounds) limited() (rows, groups int64) {
	rows, groups = c.rows, c.groups
	if c.limit.rows > 0 {
		rows = min(rows, c.limit.rows)
		if c.limit.groups > 0 {
			groups = min(groups, c.limit.groups)
		}
	}
	return rows, groups
}
