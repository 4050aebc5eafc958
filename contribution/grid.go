package contribution

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sort"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// Exponents of two. CountBits is that of the largest limit of a count of rows, and GroupedSumBits that of a sum in groups, unless its
// values are large. SumBits is that of the largest limit of any grid, such as the grid of a sum without groups.
const (
	CountBits      = 30
	GroupedSumBits = 42
	SumBits        = 60
)

// A Grid has the limits that can be chosen for the norm of a unit, ascending. It is public.
//
// Levels count limits from 0. Units below the first limit have levels as well, by further bounds that are not limits: the levels
// −[Grid.Below] to −1. The units of the lowest level have nothing.
type Grid struct {
	limits []int64 // in units of 2^−bits
	lower  []int64 // the bounds below the first limit, ascending from 0
	bits   uint
}

// NewGrid returns the grid 1, 2, 3, 4, 6, 8, 12, 16, …, that is 2^i and 3·2^(i−1), up to the first limit that is at least top. top is from
// 1 to 2^60.
func NewGrid(top int64) (Grid, error) {
	if top < 1 || top > 1<<SumBits {
		return Grid{}, fmt.Errorf("%w: a limit of %d", dp.ErrContribution, top)
	}
	limits := []int64{1}
	for next := int64(2); limits[len(limits)-1] < top; {
		limits = append(limits, next)
		switch {
		case next == 2:
			next = 3
		case bits.OnesCount64(uint64(next)) == 1: // 2^i to 3·2^(i−1)
			next += next / 2
		default:
			next += next / 3
		}
	}
	return newGrid(limits), nil
}

// newGrid returns the grid of integers, with a quarter and a half of the first integer below it.
func newGrid(limits []int64) Grid {
	g := Grid{limits: limits, lower: []int64{0}}
	for _, part := range []int64{4, 2} {
		if bound := limits[0] / part; bound > g.lower[len(g.lower)-1] {
			g.lower = append(g.lower, bound)
		}
	}
	return g
}

// CapGrid returns the grid whose last limit is top itself, for a public bound of the norm.
func CapGrid(top int64) (Grid, error) {
	grid, err := NewGrid(top)
	if err == nil {
		grid.limits[len(grid.limits)-1] = top
	}
	return grid, err
}

// From returns the grid, of integers, without the limits below least. It keeps the last limit.
func (g Grid) From(least int64) Grid {
	i := sort.Search(len(g.limits)-1, func(i int) bool { return g.limits[i] >= least })
	return newGrid(g.limits[i:])
}

// fixedBits are the fraction bits of a fixed limit that is no integer.
const fixedBits = 10

// FixedGrid returns the grid of a public limit C, which is its last limit, after C/4 and C/2. With these limits [Tail] shows how units
// below C are spread. C is √square. If √square is no integer, it is rounded up to 2⁻¹⁰, or to an integer if that adds no more than a
// thousandth: a vector of this square is within C.
func FixedGrid(square *big.Int) (Grid, error) {
	limit, bits, err := fixedLimit(square)
	if err != nil {
		return Grid{}, err
	}
	g := Grid{bits: bits, lower: []int64{0}}
	for _, part := range []int64{4, 2} {
		if limit >= part {
			g.limits = append(g.limits, limit/part)
		}
	}
	g.limits = append(g.limits, limit)
	return g, nil
}

func fixedLimit(square *big.Int) (limit int64, bits uint, err error) {
	root := new(big.Int).Sqrt(square)
	if root.Sign() < 1 || root.BitLen() > SumBits {
		return 0, 0, fmt.Errorf("%w: a limit of √%v", dp.ErrContribution, square)
	}
	switch {
	case new(big.Int).Mul(root, root).Cmp(square) == 0:
		return root.Int64(), 0, nil
	case root.BitLen() > fixedBits:
		return root.Int64() + 1, 0, nil
	}
	fine := new(big.Int).Lsh(square, 2*fixedBits)
	return fine.Sqrt(fine).Int64() + 1, fixedBits, nil
}

// Extend returns the grid with further limits, about two in each octave, up to a limit that is at least reach, but at most 2^60 on its
// lattice. The further limits give levels to norms beyond the limits that can be chosen.
func (g Grid) Extend(reach int64) Grid {
	reach = min(reach, 1<<SumBits>>g.bits)
	out := Grid{append([]int64(nil), g.limits...), g.lower, g.bits}
	for last := g.limits[len(g.limits)-1]; last>>g.bits < reach; last *= 2 {
		if last > 1 {
			out.limits = append(out.limits, last+last/2)
		}
		if last == 1 || (last+last/2)>>g.bits < reach {
			out.limits = append(out.limits, 2*last)
		}
	}
	return out
}

// Under returns the grid without the limits from most on, but with the first limit.
func (g Grid) Under(most int64) Grid {
	n := sort.Search(len(g.limits)-1, func(i int) bool { return g.limits[1+i]>>g.bits >= most })
	return g.First(1 + n)
}

// Len returns the number of limits.
func (g Grid) Len() int { return len(g.limits) }

// First returns the grid of the first n limits.
func (g Grid) First(n int) Grid { return Grid{g.limits[:n], g.lower, g.bits} }

// Below returns the number of levels below 0.
func (g Grid) Below() int { return len(g.lower) }

// Limit returns Cⱼ.
func (g Grid) Limit(j int) float64 { return math.Ldexp(float64(g.limits[j]), -int(g.bits)) }

// Squares returns, for each level from the lowest on, the largest integer that is at most the square of its bound. A vector of integers is
// within the bound if and only if the sum of its squares is at most this integer.
func (g Grid) Squares() []*big.Int {
	out := g.bounds()
	for _, n := range out {
		n.Rsh(n.Mul(n, n), 2*g.bits)
	}
	return out
}

// Integers returns, for each level from the lowest on, the largest integer that is at most its bound.
func (g Grid) Integers() []*big.Int {
	out := g.bounds()
	for _, n := range out {
		n.Rsh(n, g.bits)
	}
	return out
}

// bounds returns the bounds of all levels, in units of 2^−bits.
func (g Grid) bounds() (out []*big.Int) {
	for _, c := range slices.Concat(g.lower, g.limits) {
		out = append(out, big.NewInt(c))
	}
	return out
}

// Lattice returns the fraction bits of the lattice of sums whose directions have so many fraction bits.
func (g Grid) Lattice(fraction uint) uint { return fraction + g.bits }

// within returns the largest level whose bound is at most C/part, with C the limit of level j.
func (g Grid) within(j int, part int64) int {
	most := g.limits[j] / part
	if most < g.limits[0] {
		return sort.Search(len(g.lower), func(i int) bool { return g.lower[i] > most }) - 1 - len(g.lower)
	}
	return sort.Search(j, func(i int) bool { return g.limits[i] > most }) - 1
}

// Sensitivity returns the sensitivity of a vector whose units were clipped to the norm Cⱼ, in lattice units of 2^−[Grid.Lattice]. By Lemma
// 1 it is a ball of this norm, which a single coordinate reaches. Each is how much a statistic changes if the vector whose norm was clipped
// changes by one.
func (g Grid) Sensitivity(j int, each int64, fraction uint) (dp.Sensitivity, error) {
	limit := new(big.Int).Mul(big.NewInt(g.limits[j]), big.NewInt(each))
	if limit.Lsh(limit, fraction); each < 1 || limit.BitLen() > 63 {
		return dp.Sensitivity{}, fmt.Errorf("%w: a limit of %v with %d fraction bits", dp.ErrContribution, g.Limit(j), fraction)
	}
	return dp.Sensitivity{L0: 1, LInf: limit.Int64()}, nil
}

// Wider is [Grid.Sensitivity] of a vector over coarser groups. The clipping leaves its norm at most √square times Cⱼ.
func (g Grid) Wider(j int, square int64, fraction uint) (dp.Sensitivity, error) {
	limit := new(big.Int).Lsh(big.NewInt(g.limits[j]), fraction)
	limit.Mul(limit, limit)
	limit.Mul(limit, big.NewInt(max(square, 0)))
	root := new(big.Int).Sqrt(limit)
	if new(big.Int).Mul(root, root).Cmp(limit) < 0 {
		root.Add(root, big.NewInt(1))
	}
	if square < 1 || root.BitLen() > 63 {
		return dp.Sensitivity{}, fmt.Errorf("%w: √%d times a limit of %v with %d fraction bits", dp.ErrContribution, square,
			g.Limit(j), fraction)
	}
	return dp.Sensitivity{L0: 1, LInf: root.Int64()}, nil
}

// Between is [Grid.Sensitivity] of a sum that is at most √(square·M·N) for a unit whose norms in two of the grids are M and N, in lattice
// units of 2^−fraction. With one weight, both norms are within the limits of their levels. So the sum is within the root of square times
// the product of these limits.
func Between(grids []Grid, of [2]int, levels []int, square *big.Rat, fraction uint) (dp.Sensitivity, error) {
	most := new(big.Rat).Set(square)
	for _, i := range of {
		most.Mul(most, new(big.Rat).SetFrac(big.NewInt(grids[i].limits[levels[i]]), new(big.Int).Lsh(big.NewInt(1), grids[i].bits)))
	}
	most.Mul(most, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 2*fraction)))
	floor := new(big.Int).Quo(most.Num(), most.Denom())
	root := floor.Sqrt(floor)
	if new(big.Rat).SetInt(new(big.Int).Mul(root, root)).Cmp(most) < 0 {
		root.Add(root, big.NewInt(1))
	}
	if square.Sign() <= 0 || root.BitLen() > 63 {
		return dp.Sensitivity{}, fmt.Errorf("%w: a limit between %v and %v", dp.ErrContribution, grids[of[0]].Limit(levels[of[0]]),
			grids[of[1]].Limit(levels[of[1]]))
	}
	return dp.Sensitivity{L0: 1, LInf: root.Int64()}, nil
}

// Noise is the noise of a released number on a lattice of 2^−bits. The number is shown rounded to an integer.
type Noise struct {
	Of   mechanisms.Mechanism
	Bits uint
}

// Quantile returns the smallest c such that the shown integer is further than c from the exact value with probability at most alpha.
func (n Noise) Quantile(alpha float64) float64 {
	q := math.Ldexp(n.Of.Quantile(alpha), -int(n.Bits))
	if n.Bits > 0 {
		q += 0.5
	}
	return q
}

// StdDev returns the standard deviation, without the rounding.
func (n Noise) StdDev() float64 { return math.Ldexp(n.Of.StdDev(), -int(n.Bits)) }

// Shown rounds a released number of the lattice to an integer.
func (n Noise) Shown(released *big.Int) *big.Int {
	if n.Bits == 0 {
		return released
	}
	half := new(big.Int).Lsh(big.NewInt(1), n.Bits-1)
	return half.Rsh(half.Add(half, released), n.Bits) // Rsh floors
}
