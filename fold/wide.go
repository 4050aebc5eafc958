package fold

import (
	"math"
	"math/big"
	"math/bits"
)

// A wide is a whole number below 2^128. Larger sums and products become the largest wide.
type wide struct{ high, low uint64 }

func product(a, b uint64) wide {
	high, low := bits.Mul64(a, b)
	return wide{high, low}
}

func (a wide) plus(b wide) wide {
	low, carry := bits.Add64(a.low, b.low, 0)
	high, over := bits.Add64(a.high, b.high, carry)
	if over > 0 {
		return widest
	}
	return wide{high, low}
}

var widest = wide{math.MaxUint64, math.MaxUint64}

// squared returns a².
func (a wide) squared() wide {
	if a.high > 0 {
		return widest
	}
	return product(a.low, a.low)
}

func (a wide) less(b wide) bool { return a.high < b.high || a.high == b.high && a.low < b.low }

// times multiplies. A larger product becomes the largest wide.
func (a wide) times(b uint64) wide {
	over, high := bits.Mul64(a.high, b)
	carried, low := bits.Mul64(a.low, b)
	high, carry := bits.Add64(high, carried, 0)
	if over > 0 || carry > 0 {
		return widest
	}
	return wide{high, low}
}

// wideOf returns n, or the largest wide if n is larger.
func wideOf(n *big.Int) wide {
	if n.BitLen() > 128 {
		return widest
	}
	low := new(big.Int).SetUint64(math.MaxUint64)
	return wide{new(big.Int).Rsh(n, 64).Uint64(), low.And(low, n).Uint64()}
}
