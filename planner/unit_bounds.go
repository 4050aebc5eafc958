package planner

import (
	"math/big"
)

// unitBounds are what is known, before anything is read, of the rows that a unit has in one grouping
// set.
type unitBounds struct {
	// unique says that a unit has at most one row in all, by a proof.
	unique bool
	// single says the same of rows with counts and sums over rows: no number of rows bounds them, so that the
	// limits of what they add up to are chosen.
	single bool
	// counted says that values are counts or sums over rows of a unit.
	counted bool
	// rows bounds those of a unit in a group, and groups the groups that it is in. Further
	// rows of a unit are not added up, be it a proof or a limit that bounds them.
	rows, groups int64
	// proven says that rows is by keys, and by sizes of public relations on the mirror; else it is a
	// technical limit.
	proven bool
	// limit is by the policy or the analyst.
	limit limit
	// maxSum bounds the sum that a unit adds to a partition, in the unit of the value;
	// nil without.
	maxSum *big.Rat
	// units is about how many units there are; 0 is unsaid.
	units int64
	// again says that a limit that leaves out too much is chosen once more.
	again bool
	// penalised is the number of groups that the noise is of: what a larger limit costs.
	penalised int
}

// A limit is of the rows of a unit in a group and of its groups. 0 is none.
type limit struct {
	rows, groups int64
	// fixed says that the limit is the one to take; else it ends the grid of those to choose from.
	fixed bool
}

const (
	// maxGroupRows is the number of a unit's rows in a group from which on all count as so many.
	maxGroupRows = 1_000_000
	// maxUnitGroups is how many groups of private keys a unit can be in.
	maxUnitGroups = 4096
	// privateGroups stands for the number of groups where it is not known.
	privateGroups = 64
)

// limited returns the rows of a unit that can count in a group, and their groups, for the limit's
// norm.
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
