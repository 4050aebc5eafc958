package mechanisms

import "math/big"

// seriesGuard is how many bits below its last an enclosure is computed with. The
// roundings of a series, fewer than 2⁸ below a precision of 2⁹ bits, stay far from
// the bits it keeps; at any precision they widen the enclosure, no more.
const seriesGuard = 16

// An enclosure holds a real number x at a precision of p bits: lo ≤ x·2ᵖ ≤ hi.
// Its integers are never changed.
type enclosure struct{ lo, hi *big.Int }

// expEnclosure encloses exp(−x), for x ≥ 0, within two units of its last bit.
//
// It sums the series of exp(y) for y = x/2ᵏ below 2⁻⁶, once with every rounding
// downwards and once upwards, and squares the reciprocals k times.
func expEnclosure(x *big.Rat, precision uint) enclosure {
	whole := new(big.Int).Quo(x.Num(), x.Denom())
	if whole.Cmp(new(big.Int).SetUint64(uint64(precision))) >= 0 {
		return enclosure{new(big.Int), big.NewInt(1)} // as exp(−p) < 2⁻ᵖ
	}
	halvings := uint(whole.BitLen()) + 6
	work := precision + halvings + seriesGuard

	y := new(big.Int).Lsh(x.Num(), work-halvings)
	y.Quo(y, x.Denom())
	one := new(big.Int).Lsh(big.NewInt(1), 2*work)
	e := enclosure{
		lo: new(big.Int).Quo(one, seriesUp(new(big.Int).Add(y, big.NewInt(1)), work)),
		hi: ceilDiv(one, seriesDown(y, work)),
	}
	for range halvings {
		e.lo.Rsh(e.lo.Mul(e.lo, e.lo), work)
		e.hi = shiftUp(e.hi.Mul(e.hi, e.hi), work)
	}
	return enclosure{e.lo.Rsh(e.lo, work-precision), shiftUp(e.hi, work-precision)}
}

// seriesDown returns at most exp(y·2⁻ᵖ)·2ᵖ: the terms are positive, so that the
// sum may end anywhere.
func seriesDown(y *big.Int, precision uint) *big.Int {
	term := new(big.Int).Lsh(big.NewInt(1), precision)
	sum := new(big.Int).Set(term)
	for k := int64(1); term.Sign() > 0; k++ {
		term.Rsh(term.Mul(term, y), precision)
		term.Quo(term, big.NewInt(k))
		sum.Add(sum, term)
	}
	return sum
}

// seriesUp returns at least exp(y·2⁻ᵖ)·2ᵖ, for y·2⁻ᵖ ≤ ½: each term is at most
// half of the one before, so that the last stands for all that follow.
func seriesUp(y *big.Int, precision uint) *big.Int {
	unit := big.NewInt(1)
	term := new(big.Int).Lsh(unit, precision)
	sum := new(big.Int).Set(term)
	for k := int64(1); term.Cmp(unit) > 0; k++ {
		term = ceilDiv(shiftUp(term.Mul(term, y), precision), big.NewInt(k))
		sum.Add(sum, term)
	}
	return sum.Add(sum, term)
}

// shiftUp sets z to ⌈z/2ⁿ⌉ and returns z, for z ≥ 0.
func shiftUp(z *big.Int, n uint) *big.Int {
	exact := z.TrailingZeroBits() >= n || z.Sign() == 0
	z.Rsh(z, n)
	if !exact {
		z.Add(z, big.NewInt(1))
	}
	return z
}

// A powers encloses exp(−rate·d) for any integer d ≥ 0, by multiplying those of
// the binary digits of d.
type powers struct {
	precision uint
	far       *big.Int    // from where on exp(−rate·d) < 2⁻ᵖ
	digits    []enclosure // of exp(−rate·2ʲ) for each 2ʲ ≤ far
}

// newPowers prepares for a rate > 0. Its work grows with the logarithm of
// precision/rate.
func newPowers(rate *big.Rat, precision uint) powers {
	far := new(big.Int).Mul(rate.Denom(), new(big.Int).SetUint64(uint64(precision)))
	p := powers{precision: precision, far: ceilDiv(far, rate.Num())}
	x := new(big.Rat).Set(rate)
	for range p.far.BitLen() {
		p.digits = append(p.digits, expEnclosure(x, precision))
		x.Add(x, x)
	}
	return p
}

// at encloses exp(−rate·d), within a few units of its last bit for each binary
// digit of d.
func (p powers) at(d *big.Int) enclosure {
	if d.Cmp(p.far) >= 0 {
		return enclosure{new(big.Int), big.NewInt(1)}
	}
	lo := new(big.Int).Lsh(big.NewInt(1), p.precision)
	hi, product := new(big.Int).Set(lo), new(big.Int)
	for j, digit := range p.digits {
		if d.Bit(j) == 1 {
			lo.Rsh(product.Mul(lo, digit.lo), p.precision)
			hi.Set(shiftUp(product.Mul(hi, digit.hi), p.precision))
		}
	}
	return enclosure{lo, hi}
}

// A uniformBits is a uniform real in [0, 1) of which bits are drawn when they are
// asked for, and never drawn again.
type uniformBits struct {
	src  Source
	bits *big.Int
	n    uint
}

// extend draws until at least n bits are known: the number is in
// [bits, bits+1)·2⁻ⁿ for the n of u.
func (u *uniformBits) extend(n uint) {
	if u.bits == nil {
		u.bits = new(big.Int)
	}
	for ; u.n < n; u.n += 64 {
		u.bits.Or(u.bits.Lsh(u.bits, 64), new(big.Int).SetUint64(u.src.Uint64()))
	}
}

// A chance is an event of a probability strictly between 0 and 1 that is known
// by enclosures of any precision. A first word of the uniform number below sure
// decides that it happens, one above last that it does not.
type chance struct {
	enclose    func(precision uint) enclosure
	sure, last uint64
}

func newChance(enclose func(uint) enclosure) chance {
	e := enclose(64)
	return chance{enclose, e.lo.Uint64(), new(big.Int).Sub(e.hi, big.NewInt(1)).Uint64()}
}

// happens draws the event, exactly. It takes one word but with a probability of
// a few 2⁻⁶⁴, whatever the probability of the event.
func (c chance) happens(src Source) bool {
	word := src.Uint64()
	switch {
	case word < c.sure:
		return true
	case word > c.last:
		return false
	}
	u := uniformBits{src, new(big.Int).SetUint64(word), 64}
	for {
		u.extend(u.n + 64)
		switch e := c.enclose(u.n); {
		case u.bits.Cmp(e.lo) < 0:
			return true
		case u.bits.Cmp(e.hi) >= 0:
			return false
		}
	}
}
