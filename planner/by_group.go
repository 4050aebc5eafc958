package planner

import "math/big"

// A byGroup says that norms of a measure are of each group by itself, and of how many groups that are measured
// a unit is in at most. It is 0 where norms are over all groups.
type byGroup int64

func (b byGroup) holds() bool { return b > 0 }

// times is how many times the square of what a unit adds to a group the square of a norm over so many groups is.
func (b byGroup) times(groups int64, laplace bool) *big.Int {
	switch {
	case b.holds():
		groups = 1
	case laplace:
		groups *= groups
	}
	return big.NewInt(groups)
}
