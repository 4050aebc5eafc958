package estimate

import (
	"math"
	"math/bits"
	"slices"
)

// A grid cuts the lattice integers from low to high into buckets, numbered from 0 on. It is a function of the bounds
// and of the number of buckets alone.
type grid struct {
	low, high int64
	width     int64     // integers of a bucket where all have as many, the last one perhaps fewer
	fine      *Doubling // of a grid that is finer near a pivot, or nil
}

// A Doubling numbers integers such that buckets are the wider the farther they are from a pivot: with the distance
// d ≥ 0 from it and the number k of doublings of Buckets that d reaches, at most so many as there are,
//
//	number(d) = Buckets·k + ⌊d/2ᵏ⌋
//
// and number(d) = −1 − number(−1 − d) below the pivot. Buckets are 1 wide up to 2·Buckets, and 2ᵏ from Buckets·2ᵏ
// on: less than one part in Buckets of the distance. Beyond the last doubling all are as wide as there.
type Doubling struct {
	Pivot   int64
	Buckets int64 // of each doubling
	First   int64 // number of the lower bound
	// Cuts are the distances, signed, from which on k is one more, in order, within the bounds; Below of them are
	// negative, and k of an integer is how many it reaches, less those.
	Cuts  []int64
	Below int

	doublings int
}

// reached returns k of a signed distance, negative below the pivot.
func (d *Doubling) reached(x int64) int {
	k := -d.Below
	for _, c := range d.Cuts {
		if x >= c {
			k++
		}
	}
	return k
}

// number returns the number of the integer at a signed distance.
func (d *Doubling) number(x int64) int64 {
	k := d.reached(x)
	return d.Buckets*int64(k) + x>>max(k, -k)
}

// ends returns the first and the last signed distance of a number, without regard to bounds.
func (d *Doubling) ends(number int64) (first, last int64) {
	if number < 0 {
		first, last = d.ends(^number)
		return ^last, ^first
	}
	k := min(max(number/d.Buckets-1, 0), int64(d.doublings))
	first = (number - d.Buckets*k) << k
	return first, first + (1<<k - 1)
}

// mostFine bounds the integers of a grid that is finer near a pivot.
const mostFine = 1 << 60

// equal returns the finest grid of equal buckets, of which there are at most so many.
func equal(low, high int64, buckets int) grid {
	return grid{low: low, high: high, width: (high-low)/int64(buckets) + 1}
}

// finer returns a grid of at most so many buckets that is finer near zero, or near the bound that is nearest to zero:
// half of them at most would do if all were as wide as the widest, which is less than four times as wide as an equal
// one, and the others make the doublings finer. Where buckets have one integer each, or there are too few for
// doublings, all are equal.
func finer(low, high int64, buckets int) grid {
	g := equal(low, high, buckets)
	if g.width == 1 || low < -mostFine || high > mostFine {
		return g
	}
	of := Doubling{Pivot: min(max(0, low), high)}
	for of.doublings = 1; (high-low)>>of.doublings > int64(buckets)/2; {
		of.doublings++
	}
	for bit := int64(1) << bits.Len(uint(buckets)); bit > 0; bit >>= 1 {
		next := of
		next.Buckets += bit
		next.cut(low, high)
		if next.count(high) <= int64(buckets) {
			of = next
		}
	}
	if of.Buckets > 0 {
		g.fine = &of
	}
	return g
}

// cut finds the cuts within the bounds, and the number of the lower one.
func (d *Doubling) cut(low, high int64) {
	var up, down []int64
	for k := 1; k <= d.doublings && d.Buckets <= math.MaxInt64>>(k+1); k++ {
		c := d.Buckets << k
		if c <= high-d.Pivot {
			up = append(up, c)
		}
		if -c > low-d.Pivot {
			down = append([]int64{-c}, down...)
		}
	}
	d.Cuts, d.Below = slices.Concat(down, up), len(down)
	d.First = d.number(low - d.Pivot)
}

// count returns how many buckets there are.
func (d *Doubling) count(high int64) int64 { return d.number(high-d.Pivot) - d.First + 1 }

// number returns the bucket of an integer within the bounds.
func (g grid) number(x int64) int64 {
	if g.fine != nil {
		return g.fine.number(x-g.fine.Pivot) - g.fine.First
	}
	return (x - g.low) / g.width
}

// Bucket returns the first and the last lattice integer of a bucket.
func (g grid) Bucket(i int) (first, last int64) {
	if g.fine != nil {
		first, last = g.fine.ends(g.fine.First + int64(i))
		return max(g.fine.Pivot+first, g.low), min(g.fine.Pivot+last, g.high)
	}
	first = g.low + int64(i)*g.width
	return first, first + min(g.width-1, g.high-first)
}

// Width returns how many lattice integers the widest bucket stands for: the resolution of everything that is
// estimated from the tree.
func (g grid) Width() int64 {
	if g.fine == nil {
		return g.width
	}
	return 1 << max(len(g.fine.Cuts)-g.fine.Below, g.fine.Below)
}

// Doubling returns how the buckets are numbered where they are not equal, else nil.
func (g grid) Doubling() *Doubling { return g.fine }
