package contribution

import (
	"fmt"
	"io"
	"math/big"

	"dpproxy/mechanisms"
)

// Levels are the exact sums of one read by the level of units: A(l,g), R(l,g), and the number
// of units of each level. They are of protected rows: like a [mechanisms.Private] they have no
// accessor, and print nothing.
type Levels struct {
	grid     Grid
	fraction uint
	units    []*big.Int // by level, those above all limits last
	groups   [][]cell   // by group
}

// A cell holds the sums of the units of one level in one group.
type cell struct {
	level           int
	sum, directions *big.Int
}

// NewLevels returns empty sums for so many groups, in lattice units of 2^−fraction.
func NewLevels(grid Grid, fraction uint, groups int) *Levels {
	l := &Levels{grid: grid, fraction: fraction, groups: make([][]cell, groups)}
	for range len(grid) + 1 {
		l.units = append(l.units, new(big.Int))
	}
	return l
}

// Format implements fmt.Formatter: it writes "private" under every verb.
func (*Levels) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "private") }

// AddUnits adds n units of a level, from 0 to the length of the grid.
func (l *Levels) AddUnits(level int, n *big.Int) { l.units[level].Add(l.units[level], n) }

// Add adds Σ x(u,g) and Σ d(u,g) of units of a level to a group.
func (l *Levels) Add(group, level int, sum, directions *big.Int) {
	l.groups[group] = append(l.groups[group], cell{level, new(big.Int).Set(sum), new(big.Int).Set(directions)})
}

// Above returns, for every limit Cⱼ of the grid, mⱼ: the number of units above it. One unit
// changes each by 0 or 1, all in the same direction.
func (l *Levels) Above() []mechanisms.Private {
	above := make([]mechanisms.Private, len(l.grid))
	n := new(big.Int)
	for j := len(l.grid) - 1; j >= 0; j-- {
		above[j] = mechanisms.Protect(n.Add(n, l.units[j+1]))
	}
	return above
}

// Clipped returns F(j,g) of every group g: the vector of which every unit has a norm of at most
// Cⱼ, in lattice units of 2^−fraction.
func (l *Levels) Clipped(j int) []mechanisms.Private {
	limit := big.NewInt(l.grid[j])
	clipped := make([]mechanisms.Private, len(l.groups))
	for g, cells := range l.groups {
		total := new(big.Int)
		for _, c := range cells {
			part := new(big.Int)
			if c.level <= j {
				part.Lsh(c.sum, l.fraction)
			} else {
				part.Mul(c.directions, limit)
			}
			total.Add(total, part)
		}
		clipped[g] = mechanisms.Protect(total)
	}
	return clipped
}

// Tail returns the numbers of units that a [Tail] releases at the limit Cⱼ: above C/4 up to C/2, above
// C/2 up to C, and above C. They count disjoint units.
func (l *Levels) Tail(j int) [3]mechanisms.Private {
	half, quarter := l.grid.below(j, 2), l.grid.below(j, 4)
	return [3]mechanisms.Private{l.between(quarter, half), l.between(half, j+1), l.between(j+1, len(l.units))}
}

// between returns the number of units of the levels from first to before last.
func (l *Levels) between(first, last int) mechanisms.Private {
	n := new(big.Int)
	for _, units := range l.units[first:last] {
		n.Add(n, units)
	}
	return mechanisms.Protect(n)
}
