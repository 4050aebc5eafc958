package mechanisms

import (
	"math/big"
	"math/bits"
	"slices"
	"sync"
)

const (
	// coarseBits is the precision of a first look at a choice, which is in words. With fewer than 2¹⁶
	// candidates it tells which one it is but with probability below 2⁻⁴⁰; then a finer look at the same
	// uniform number tells.
	coarseBits = 63
	// leastCoarse is from how many candidates on it is worth its tables.
	leastCoarse = 64
	// maxCoarse bounds the sum of weights, so that sums fit two words.
	maxCoarse = 1 << 32
	// radixBits are those of a digit of the tables.
	radixBits = 6
)

// A coarse encloses exp(−rate·d) by words of [coarseBits], by the digits of d.
type coarse struct {
	far    uint64 // from where on exp(−rate·d) is below the last bit
	digits [][1 << radixBits]words
}

// words are an enclosure in words.
type words struct{ lo, hi uint64 }

// newCoarse makes the tables of fine powers when they are first used; nil where far is no word that a distance is below.
func newCoarse(p powers) func() *coarse {
	return sync.OnceValue(func() *coarse {
		far := new(big.Int).Mul(p.far, big.NewInt(coarseBits))
		far.Quo(far, new(big.Int).SetUint64(uint64(p.precision))).Add(far, big.NewInt(1))
		if !far.IsUint64() || far.Uint64() == farAway {
			return nil
		}
		c := &coarse{far: far.Uint64()}
		for low := 0; low < far.BitLen(); low += radixBits {
			var digit [1 << radixBits]words
			for v := range digit {
				digit[v] = coarsened(p.at(new(big.Int).Lsh(big.NewInt(int64(v)), uint(low))), p.precision)
			}
			c.digits = append(c.digits, digit)
		}
		return c
	})
}

// coarsened rounds an enclosure of at most 1 outwards.
func coarsened(e enclosure, precision uint) words {
	drop := precision - coarseBits
	return words{new(big.Int).Rsh(e.lo, drop).Uint64(), shiftUp(new(big.Int).Set(e.hi), drop).Uint64()}
}

// at encloses exp(−rate·d).
func (c *coarse) at(d uint64) words {
	if d >= c.far {
		return words{0, 1}
	}
	e := words{1 << coarseBits, 1 << coarseBits}
	for i, rest := 0, d; rest > 0; i, rest = i+1, rest>>radixBits {
		of := c.digits[i][rest%(1<<radixBits)]
		hi, lo := bits.Mul64(e.lo, of.lo)
		e.lo = hi<<1 | lo>>coarseBits
		hi, lo = bits.Mul64(e.hi, of.hi)
		e.hi = hi<<1 | lo>>coarseBits
		if lo<<1 > 0 {
			e.hi++
		}
	}
	return e
}

// A double is a number of two words.
type double struct{ hi, lo uint64 }

// plus adds a product.
func (x double) plus(a, b uint64) double {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	x.lo, carry = bits.Add64(x.lo, lo, 0)
	x.hi, _ = bits.Add64(x.hi, hi, carry)
	return x
}

// times returns ⌊u·x/2⁶⁴⌋.
func (x double) times(u uint64) double {
	hi, _ := bits.Mul64(u, x.lo)
	return double{0, hi}.plus(u, x.hi)
}

func (x double) atMost(y double) bool { return x.hi < y.hi || x.hi == y.hi && x.lo <= y.lo }

// locate returns the i of the fine [locate] for the uniform number that begins with a word, if the words tell. Of
// distances that are no words it is enough that they are [farAway].
func (c *coarse) locate(u uint64, weights, below []uint64) (int, bool) {
	cells := make([]words, len(weights))
	var low, high double
	for i, d := range below {
		if i > 0 && d == below[i-1] {
			cells[i] = cells[i-1]
		} else {
			cells[i] = c.at(d)
		}
		low, high = low.plus(weights[i], cells[i].lo), high.plus(weights[i], cells[i].hi)
	}
	// The number, times the total, is at least from and below to.
	from, to := low.times(u), high.times(u).plus(1, high.hi).plus(1, 2)
	var before, after double
	for i, e := range cells {
		after = after.plus(weights[i], e.lo)
		if to.atMost(after) {
			return i, before.atMost(from)
		}
		before = before.plus(weights[i], e.hi)
	}
	return 0, false
}

// coarsely reports whether a first look in words is worth while, and possible.
func coarsely(weights []uint64) bool {
	if len(weights) < leastCoarse {
		return false
	}
	sum := uint64(0)
	return !slices.ContainsFunc(weights, func(w uint64) bool {
		sum += min(w, maxCoarse)
		return sum >= maxCoarse
	})
}
