package planner

import (
	"math/big"

	"dpproxy/dp"
)

// A contribution bounds the rows and groups of one grouping set that a unit counts in.
type contribution struct {
	dp.Contribution
	// unique says that a unit has at most one row in all, by a proof.
	unique bool
	// choosesRows says that rows of a unit must be chosen: nothing proves that it has at
	// most Rows of them in a partition.
	choosesRows bool
	// choosesPartitions says that partitions of a unit must be chosen: nothing proves that it
	// has rows in at most Partitions of them.
	choosesPartitions bool
	// maxSum bounds the sum that a unit adds to a partition, in the unit of the value;
	// nil without.
	maxSum *big.Rat
}
