package planner

import "math/big"

// A byGroup, if positive, says that norms of a measure are of each group by itself, and bounds the number of measured groups of one unit.
// It is 0 if norms are over all groups.
type byGroup int64

func (b byGroup) holds() bool { return b > 0 }

// times returns (norm over groups / contribution to each group)², for a unit that contributes equally to so many groups.
func (b byGroup) times(groups int64, laplace bool) *big.Int {
	switch {
	case b.holds():
		groups = 1
	case laplace:
		groups *= groups
	}
	return big.NewInt(groups)
}
