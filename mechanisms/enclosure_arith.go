package mechanisms

import "math/big"

// A fixed is the arithmetic of enclosures of numbers ≥ 0 at one precision. Every
// lower end is rounded down and every upper end up.
type fixed struct{ precision uint }

func (f fixed) unit() *big.Int { return new(big.Int).Lsh(big.NewInt(1), f.precision) }

func (f fixed) one() enclosure { return enclosure{f.unit(), f.unit()} }

// rational encloses x ≥ 0.
func (f fixed) rational(x *big.Rat) enclosure {
	num := new(big.Int).Lsh(x.Num(), f.precision)
	return enclosure{new(big.Int).Quo(num, x.Denom()), ceilDiv(num, x.Denom())}
}

func (f fixed) add(a, b enclosure) enclosure {
	return enclosure{new(big.Int).Add(a.lo, b.lo), new(big.Int).Add(a.hi, b.hi)}
}

func (f fixed) mul(a, b enclosure) enclosure {
	lo, hi := new(big.Int).Mul(a.lo, b.lo), new(big.Int).Mul(a.hi, b.hi)
	return enclosure{lo.Rsh(lo, f.precision), shiftUp(hi, f.precision)}
}

// quo encloses a/b for b > 0 whose enclosure does not hold 0.
func (f fixed) quo(a, b enclosure) enclosure {
	lo, hi := new(big.Int).Lsh(a.lo, f.precision), new(big.Int).Lsh(a.hi, f.precision)
	return enclosure{lo.Quo(lo, b.hi), ceilDiv(hi, b.lo)}
}

// sub encloses a − b, for a ≥ b.
func (f fixed) sub(a, b enclosure) enclosure {
	lo := new(big.Int).Sub(a.lo, b.hi)
	if lo.Sign() < 0 {
		lo.SetInt64(0)
	}
	return enclosure{lo, new(big.Int).Sub(a.hi, b.lo)}
}

// complement encloses 1 − a, for a ≤ 1.
func (f fixed) complement(a enclosure) enclosure { return f.sub(f.one(), a) }

// narrow encloses min(a, 1) at a lower precision.
func (f fixed) narrow(a enclosure, precision uint) enclosure {
	lo := new(big.Int).Rsh(a.lo, f.precision-precision)
	hi := shiftUp(new(big.Int).Set(a.hi), f.precision-precision)
	if one := (fixed{precision}).unit(); hi.Cmp(one) > 0 {
		hi.Set(one)
		if lo.Cmp(one) > 0 {
			lo.Set(one)
		}
	}
	return enclosure{lo, hi}
}
