package contribution

import (
	"fmt"
	"math/bits"
	"sort"

	"dpproxy/dp"
)

// Exponents of two at which grids end: a count of rows, a sum that is grouped, and a sum
// that is not, whose whole budget of bits is for one coordinate.
const (
	CountBits      = 30
	GroupedSumBits = 42
	SumBits        = 60
)

// A Grid has the limits that can be chosen for the norm of a unit, ascending: 1, 2, 3, 4, 6,
// 8, 12, 16, …, that is 2^i and 3·2^(i−1). It is public.
type Grid []int64

// NewGrid returns the grid up to the first limit that is at least top, which is from 1 to
// 2^60.
func NewGrid(top int64) (Grid, error) {
	if top < 1 || top > 1<<SumBits {
		return nil, fmt.Errorf("%w: a limit of %d", dp.ErrContribution, top)
	}
	grid := Grid{1}
	for next := int64(2); grid[len(grid)-1] < top; {
		grid = append(grid, next)
		switch {
		case next == 2:
			next = 3
		case bits.OnesCount64(uint64(next)) == 1: // 2^i to 3·2^(i−1)
			next += next / 2
		default:
			next += next / 3
		}
	}
	return grid, nil
}

// CapGrid returns the grid whose last limit is top itself, for a public bound of the norm.
func CapGrid(top int64) (Grid, error) {
	grid, err := NewGrid(top)
	if err == nil {
		grid[len(grid)-1] = top
	}
	return grid, err
}

// below returns the number of limits that are at most C/part, C the limit of level j.
func (g Grid) below(j int, part int64) int {
	return sort.Search(j, func(i int) bool { return g[i] > g[j]/part })
}

// Sensitivity returns that of a vector whose units were clipped to the norm limit, on the
// lattice of 2^−fraction: by Lemma 1 a ball of that norm, which a single coordinate reaches.
func Sensitivity(limit int64, fraction uint) (dp.Sensitivity, error) {
	if limit < 1 || fraction > SumBits || bits.Len64(uint64(limit))+int(fraction) > 63 {
		return dp.Sensitivity{}, fmt.Errorf("%w: a limit of %d with %d fraction bits", dp.ErrContribution, limit, fraction)
	}
	return dp.Sensitivity{L0: 1, LInf: limit << fraction}, nil
}
