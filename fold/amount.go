package fold

import (
	"math"
	"math/big"
	"math/bits"
)

// An amount is a whole number of 128 bits, with room for sums of fewer than 2^40 numbers below 2^86.
type amount struct {
	high int64
	low  uint64
}

func amountOf(x int64) amount { return amount{x >> 63, uint64(x)} }

func (a amount) plus(b amount) amount {
	low, carry := bits.Add64(a.low, b.low, 0)
	return amount{a.high + b.high + int64(carry), low}
}

func (a amount) negated() amount {
	low, borrow := bits.Sub64(0, a.low, 0)
	return amount{-a.high - int64(borrow), low}
}

func (a amount) less(b amount) bool { return a.high < b.high || a.high == b.high && a.low < b.low }

// within returns a if it is from −most to most, and the nearer of these bounds otherwise.
func (a amount) within(most amount) amount {
	if most.less(a) {
		return most
	}
	if least := most.negated(); a.less(least) {
		return least
	}
	return a
}

// size returns |a|.
func (a amount) size() wide {
	if a.high < 0 {
		a = a.negated()
	}
	return wide{uint64(a.high), a.low}
}

// times multiplies a, which is below 2^64 in size.
func (a amount) times(b int64) amount {
	of := a.size()
	p := product(of.low, size(b))
	out := amount{int64(p.high), p.low}
	if (a.high < 0) != (b < 0) {
		return out.negated()
	}
	return out
}

// part returns 2^bits·a/by, rounded toward zero. It returns 0 if 2^bits·a is 2^127 or more in size.
func (a amount) part(bits uint, by uint64) amount {
	of := a.size()
	if of.high>>(63-bits) > 0 {
		return amount{}
	}
	q := of.shifted(bits).over(by)
	out := amount{int64(q.high), q.low}
	if a.high < 0 {
		return out.negated()
	}
	return out
}

// beyondAll is larger than all sums.
var beyondAll = amount{high: math.MaxInt64 / 2}

// readAmount reads a whole number, an integer or a numeric; NULL is 0. The largest size is that of beyondAll, which NaN is too.
func readAmount(kind NumberKind, value []byte) (a amount, ok bool) {
	if value == nil {
		return amount{}, true
	}
	if kind == Whole {
		x, ok := readWhole(value)
		return amountOf(x), ok
	}
	n, ok := readNumeric(value)
	if !ok {
		return amount{}, false
	}
	switch n.sign {
	case notANumber, infinite:
		return beyondAll, true
	case minusEndles:
		return beyondAll.negated(), true
	}
	a = n.whole()
	if n.sign == negative {
		a = a.negated()
	}
	return a, true
}

// whole returns the size of a numeric without its decimals, at most beyondAll.
func (n numeric) whole() amount {
	size := wide{}
	for i := range n.weight + 1 {
		digit := uint64(0)
		if 2*i < len(n.digits) {
			digit = uint64(n.digit(i))
		}
		if size = size.times(10_000).plus(wide{0, digit}); !size.less(wide{math.MaxInt64 / 2, 0}) {
			return beyondAll
		}
	}
	return amount{int64(size.high), size.low}
}

func (a amount) big() *big.Int {
	out := new(big.Int).Lsh(big.NewInt(a.high), 64)
	return out.Add(out, new(big.Int).SetUint64(a.low))
}

// amountMost returns n, which is not negative, as an amount below 2^126.
func amountMost(n *big.Int) amount {
	w := wideOf(n)
	return amount{int64(min(w.high, math.MaxInt64/2)), w.low}
}

func size(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func (a wide) shifted(by uint) wide { return wide{a.high<<by | a.low>>(64-by), a.low << by} }

// over divides, rounded down.
func (a wide) over(by uint64) wide {
	low, _ := bits.Div64(a.high%by, a.low, by)
	return wide{a.high / by, low}
}

// overUp divides, rounded up.
func (a wide) overUp(by uint64) wide {
	q := a.over(by)
	if back := q.times(by); back.less(a) {
		return q.plus(wide{0, 1})
	}
	return q
}

func (a wide) minus(b wide) wide {
	low, borrow := bits.Sub64(a.low, b.low, 0)
	return wide{a.high - b.high - borrow, low}
}

// root returns √a, rounded down.
func (a wide) root() uint64 {
	f := math.Sqrt(float64(a.high)*(1<<32)*(1<<32) + float64(a.low))
	r := uint64(math.MaxUint64)
	if f < 1<<64 {
		r = uint64(f)
	}
	for a.less(product(r, r)) {
		r--
	}
	for r < math.MaxUint64 && !a.less(product(r+1, r+1)) {
		r++
	}
	return r
}

// fineRoot returns 2^rootBits·√a, rounded up; false if that is 2^63 or more.
func (a wide) fineRoot() (uint64, bool) {
	whole := a.root()
	if whole>>(63-rootBits) > 0 {
		return 0, false
	}
	// d is the smallest number with (2^10·r + d)² ≥ 2^20·a, which is 2^11·r·d + d² ≥ 2^20·(a − r²).
	rest := a.minus(product(whole, whole)).shifted(2 * rootBits)
	from, to := uint64(0), uint64(1)<<rootBits
	for from < to {
		middle := (from + to) / 2
		if product(whole<<(rootBits+1)+middle, middle).less(rest) {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return whole<<rootBits + from, true
}
