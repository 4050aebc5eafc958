package contribution

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"dpproxy/mechanisms"
)

// Cells are the exact sums of one integer, by the levels of the units that add to it. The integer is a coordinate of a vector, with A(l) =
// Σ x(u,g) and R(l) = Σ d(u,g), or the number of units. A unit has a level for each norm that bounds it. The sums are of protected rows:
// like a [mechanisms.Private], Cells have no accessor and print nothing; inside another struct, fmt finds a function. The zero Cells are
// sums of nothing.
type Cells struct{ reveal func() *[]cell }

// cells returns the cells of c, which may be nil.
func (c *Cells) cells() []cell {
	if c == nil || c.reveal == nil {
		return nil
	}
	return *c.reveal()
}

// A cell has the sums of all units of the same levels. It is small, since there is a cell for each level and private group.
type cell struct {
	levels          levels
	sum, directions int64
	large           *[2]big.Int // in place of both, if either is no int64; else nil
}

// MaxNorms is the largest number of norms that bound a unit.
const MaxNorms = 3

// levels has the level of each norm, and noLevel after the last norm.
type levels [MaxNorms]int16

const noLevel = math.MinInt16

func levelsOf(of []int) levels {
	out := levels{noLevel, noLevel, noLevel}
	for i, l := range of {
		out[i] = int16(l)
	}
	return out
}

// ints appends the levels to a list.
func (l levels) ints(to []int) []int {
	for _, level := range l {
		if level != noLevel {
			to = append(to, int(level))
		}
	}
	return to
}

// newCell returns the cell of two sums. The second sum may be nil for zero.
func newCell(of []int, sum, directions *big.Int) cell {
	c := cell{levels: levelsOf(of)}
	if directions == nil {
		directions = new(big.Int)
	}
	if sum.IsInt64() && directions.IsInt64() {
		c.sum, c.directions = sum.Int64(), directions.Int64()
		return c
	}
	c.large = new([2]big.Int)
	c.large[0].Set(sum)
	c.large[1].Set(directions)
	return c
}

// setSum sets to to the first sum, and returns it.
func (x cell) setSum(to *big.Int) *big.Int {
	if x.large != nil {
		return to.Set(&x.large[0])
	}
	return to.SetInt64(x.sum)
}

// setDirections sets to to the second sum, and returns it.
func (x cell) setDirections(to *big.Int) *big.Int {
	if x.large != nil {
		return to.Set(&x.large[1])
	}
	return to.SetInt64(x.directions)
}

// Format implements fmt.Formatter: it writes "private" under every verb.
func (*Cells) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "private") }

// Add adds Σ x(u,g) and Σ d(u,g) of units of the given levels. directions may be nil if they are not used.
func (c *Cells) Add(levels []int, sum, directions *big.Int) {
	if c.reveal == nil {
		var own []cell
		c.reveal = func() *[]cell { return &own }
	}
	all := c.reveal()
	*all = append(*all, newCell(levels, sum, directions))
}

// Distinct reports whether no two additions were of the same levels.
func (c *Cells) Distinct() bool {
	all := c.cells()
	slices.SortFunc(all, func(a, b cell) int { return slices.Compare(a.levels[:], b.levels[:]) })
	for i := 1; i < len(all); i++ {
		if all[i-1].levels == all[i].levels {
			return false
		}
	}
	return true
}

// total returns the sum, over all cells, of the numbers to which of sets its argument.
func (c *Cells) total(of func(*big.Int, cell)) mechanisms.Private {
	total, part := new(big.Int), new(big.Int)
	for _, x := range c.cells() {
		of(part, x)
		total.Add(total, part)
	}
	return mechanisms.Protect(total)
}

// where returns the sum of the cells for which a condition holds.
func (c *Cells) where(holds func(levels []int) bool) mechanisms.Private {
	var all [MaxNorms]int
	return c.total(func(part *big.Int, x cell) {
		if x.setSum(part); !holds(x.levels.ints(all[:0])) {
			part.SetInt64(0)
		}
	})
}

// Clipped returns F(j,g): the sum in which every unit counts with a norm of at most the limit Cⱼ of the grid, in lattice units of
// 2^−[Grid.Lattice].
func (c *Cells) Clipped(g Grid, j int, fraction uint) mechanisms.Private {
	limit := big.NewInt(g.limits[j])
	return c.total(func(part *big.Int, x cell) {
		if int(x.levels[0]) <= j {
			x.setSum(part).Lsh(part, g.Lattice(fraction))
			return
		}
		x.setDirections(part).Mul(part, limit)
	})
}

// Weighted returns the sum in which every unit counts with one weight,
//
//	w = min over norms i of 1 and ⌊2^f·C(jᵢ)/C(lᵢ)⌋/2^f,
//
// with lᵢ the unit's level of norm i. Each norm of the weighted unit is at most C(jᵢ), since norm i is at most C(lᵢ). A unit above all
// limits of a grid does not count. The sum is in lattice units of 2^−f.
func (c *Cells) Weighted(grids []Grid, chosen []int, fraction uint) mechanisms.Private {
	var all [MaxNorms]int
	sum, weight := new(big.Int), new(big.Int)
	return c.total(func(part *big.Int, x cell) {
		part.Mul(x.setSum(sum), weight.SetUint64(weightOf(x.levels.ints(all[:0]), grids, chosen, fraction)))
	})
}

// weightOf returns 2^f·w of a unit with levels of norms. fraction is at most 62.
func weightOf(levels []int, grids []Grid, chosen []int, fraction uint) uint64 {
	least := uint64(1) << fraction
	for i, l := range levels {
		if l == grids[i].Len() {
			return 0
		}
		if l > chosen[i] {
			high, low := bits.Mul64(uint64(grids[i].limits[chosen[i]]), 1<<fraction)
			w, _ := bits.Div64(high, low, uint64(grids[i].limits[l])) // below 2^f: limits increase
			least = min(least, w)
		}
	}
	return least
}

// Above returns mⱼ for each of the first limits of a grid: the number of units whose level of a norm is above j. One unit changes each mⱼ
// by 0 or 1, all in the same direction.
func (c *Cells) Above(norm, limits int) []mechanisms.Private {
	above := make([]mechanisms.Private, limits)
	for j := range above {
		above[j] = c.where(func(levels []int) bool { return levels[norm] > j })
	}
	return above
}

// Beyond returns the number of units above a limit: the units whose level of some norm is above the chosen level.
func (c *Cells) Beyond(chosen []int) mechanisms.Private {
	return c.where(func(levels []int) bool { return exceeds(levels, chosen) })
}

// Tail returns the numbers of units that a [Tail] releases at limits C, with one limit for each norm. The first number is of units that
// have something and are at most C/4 in all norms. The second is of units above C/4 in some norm and at most C/2 in all norms. The third is
// of units above C/2 in some norm and at most C in all norms, and the fourth of units above C in some norm. The numbers count disjoint
// units, and no unit that has nothing. No unit can be above a norm without a grid, nor near its limit.
func (c *Cells) Tail(grids []Grid, chosen []int) [TailNumbers]mechanisms.Private {
	bounds := [][]int{levelsWithin(grids, chosen, nothing), levelsWithin(grids, chosen, 4), levelsWithin(grids, chosen, 2), chosen}
	var out [TailNumbers]mechanisms.Private
	for i := range bounds[:len(bounds)-1] {
		out[i] = c.where(func(levels []int) bool { return exceeds(levels, bounds[i]) && !exceeds(levels, bounds[i+1]) })
	}
	out[TailNumbers-1] = c.Beyond(chosen)
	return out
}

// nothing divides a limit to 0.
const nothing = math.MaxInt64

// levelsWithin returns the largest levels whose bounds are at most C/part.
func levelsWithin(grids []Grid, chosen []int, part int64) []int {
	out := slices.Clone(chosen)
	for i, g := range grids {
		if g.Len() > 0 {
			out[i] = g.within(chosen[i], part)
		}
	}
	return out
}

// exceeds reports whether a level of a unit is above the chosen level.
func exceeds(levels, chosen []int) bool {
	for i, l := range levels {
		if l > chosen[i] {
			return true
		}
	}
	return false
}
