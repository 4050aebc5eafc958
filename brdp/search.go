package brdp

import (
	"math"
	"math/big"
)

// The searches propose parameters. A proposal is rounded, built, and its
// acceptance and loss computed anew, so that their errors cost accuracy only.

// threshold returns an x in [low, high] at which ok holds, near the least such, if
// ok is monotone and holds at high; 0 < low.
func threshold(low, high float64, ok func(x float64) bool) float64 {
	if ok(low) {
		return low
	}
	for high/low > 1+1e-13 {
		mid := low * math.Sqrt(high/low)
		if mid <= low || mid >= high {
			break
		}
		if ok(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// minimise returns an x in [low, high], 0 < low, at which f is near its least: the
// best point of a grid, geometric and denser near low, and then a golden section
// around it.
func minimise(low, high float64, f func(x float64) float64) float64 {
	const cells, cuts, golden = 12, 10, 0.6180339887498949
	span := math.Log(high / low)
	at := func(u float64) float64 { return f(low * math.Exp(span*u*u)) }
	best, least := 0.0, math.Inf(1)
	for i := range cells + 1 {
		u := float64(i) / cells
		if y := at(u); y < least {
			best, least = u, y
		}
	}
	a, b := max(0, best-1.0/cells), min(1, best+1.0/cells)
	x1, x2 := b-golden*(b-a), a+golden*(b-a)
	y1, y2 := at(x1), at(x2)
	for range cuts {
		if y1 <= y2 {
			b, x2, y2 = x2, x1, y1
			x1 = b - golden*(b-a)
			y1 = at(x1)
		} else {
			a, x1, y1 = x1, x2, y2
			x2 = a + golden*(b-a)
			y2 = at(x2)
		}
	}
	if x, y := x1, min(y1, y2); y < least {
		if y2 < y1 {
			x = x2
		}
		best = x
	}
	return low * math.Exp(span*best*best)
}

// keepDown and keepUp return a rational with at most 32 significant bits next to
// keep, which is above 0 and at most 1.
func keepDown(keep float64) *big.Rat { return keepRat(keep, math.Floor) }

func keepUp(keep float64) *big.Rat { return keepRat(keep, math.Ceil) }

func keepRat(keep float64, round func(float64) float64) *big.Rat {
	bits := min(62, 31-math.Ilogb(keep))
	num := min(round(math.Ldexp(keep, bits)), math.Ldexp(1, bits))
	return big.NewRat(max(1, int64(num)), int64(1)<<bits)
}

// scaleRat returns the rational that round makes of a scale: a multiple of 2⁻³⁰
// below 2²⁰, an integer above.
func scaleRat(scale float64, round func(float64) float64) *big.Rat {
	bits := 0
	if scale < 1<<20 {
		bits = 30
	}
	num := max(1, int64(round(math.Ldexp(scale, bits))))
	return big.NewRat(num, int64(1)<<bits)
}
