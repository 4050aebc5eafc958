package estimate

import (
	"math"
	"math/big"
)

// LeftOut bounds what was left out of the sum and the count of an [Average], as limits of contributions do:
// at most so many Rows, in units of the count, whose values less the centre add up to between
// −Less and More, in units of the sum. Infinite numbers bound nothing.
type LeftOut struct{ Less, More, Rows float64 }

// Beyond returns how far the mean of all can be below and above the interval of the mean of what was
// counted. With a the centre, sums S and E of distances from it and counts N and M, of what was counted
// and of what was not, the two means differ by
//
//	(S + E)/(N + M) − S/N = (E − M·S/N)/(N + M):
//
// at most by More and Rows·(a − mean) over N, and no more than if all that was left out were at an end of the
// bounds. It is in the unit of the values.
func (a Average) Beyond(sum, count *big.Int, out LeftOut) (below, above float64) {
	n, ok := rows(count, a.countError, a.one)
	if !ok && a.bounds == nil {
		return math.Inf(1), math.Inf(1)
	}
	if !ok {
		return 0, 0 // the interval is all of the bounds
	}
	in, _ := a.Interval(sum, count)
	low, high := in.Float64()
	unit, _ := a.unit.Float64()
	centre, _ := a.centre.Float64()
	least, _ := n.Lower.Float64()
	below = (out.Less*unit + partOf(out.Rows, high-centre)) / least
	above = (out.More*unit + partOf(out.Rows, centre-low)) / least
	if a.bounds == nil {
		return below, above
	}
	first, last := a.bounds.Float64()
	if out.Rows > 0 {
		share := 1 / (1 + least/out.Rows)
		below, above = min(below, share*(high-first)), min(above, share*(last-low))
	}
	return min(below, low-first), min(above, last-high)
}

// partOf returns x·y, or 0 where y is negative.
func partOf(x, y float64) float64 {
	if y <= 0 {
		return 0
	}
	return x * y
}
