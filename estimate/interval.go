package estimate

import (
	"math"
	"math/big"
)

// An Interval is the closed interval from Lower to Upper. Its arithmetic is
// exact: the result holds f(x, y) for every x and y in the operands, and is the
// smallest such interval.
//
// If one interval fails to cover its quantity with probability α and another
// with β, an interval computed from both fails with at most α + β. Operands that
// come from one quantity give a wider interval than necessary, never a false one.
type Interval struct{ Lower, Upper *big.Rat }

// Contains reports whether x is in the interval.
func (i Interval) Contains(x *big.Rat) bool {
	return i.Lower.Cmp(x) <= 0 && x.Cmp(i.Upper) <= 0
}

// Plus returns {x + y}.
func (i Interval) Plus(j Interval) Interval {
	return Interval{new(big.Rat).Add(i.Lower, j.Lower), new(big.Rat).Add(i.Upper, j.Upper)}
}

// Minus returns {x − y}.
func (i Interval) Minus(j Interval) Interval {
	return Interval{new(big.Rat).Sub(i.Lower, j.Upper), new(big.Rat).Sub(i.Upper, j.Lower)}
}

// Times returns {x·y}.
func (i Interval) Times(j Interval) Interval {
	lower := new(big.Rat).Mul(i.Lower, j.Lower)
	upper := new(big.Rat).Set(lower)
	for _, pair := range [][2]*big.Rat{{i.Lower, j.Upper}, {i.Upper, j.Lower}, {i.Upper, j.Upper}} {
		product := new(big.Rat).Mul(pair[0], pair[1])
		lower, upper = least(lower, product), most(upper, product)
	}
	return Interval{lower, upper}
}

// Over returns {x/y}, or false if y may be zero.
func (i Interval) Over(j Interval) (Interval, bool) {
	if j.Lower.Sign() <= 0 && j.Upper.Sign() >= 0 {
		return Interval{}, false
	}
	return i.Times(Interval{new(big.Rat).Inv(j.Upper), new(big.Rat).Inv(j.Lower)}), true
}

// Sqrt returns an interval that holds √x for every x ≥ 0 in the interval; each
// end is within a relative 2⁻⁶³ of the exact one.
func (i Interval) Sqrt() Interval {
	lower, _ := sqrt(i.Lower)
	_, upper := sqrt(i.Upper)
	return Interval{lower, upper}
}

// Float64 returns the ends, rounded outwards.
func (i Interval) Float64() (lower, upper float64) {
	lower, _ = i.Lower.Float64()
	if exact := new(big.Rat).SetFloat64(lower); exact == nil || exact.Cmp(i.Lower) > 0 {
		lower = math.Nextafter(lower, math.Inf(-1))
	}
	return lower, roundUp(i.Upper)
}

// Radius returns the largest distance of x from an end, rounded up: the error to
// state as "x ± radius".
func (i Interval) Radius(x *big.Rat) float64 {
	return roundUp(most(new(big.Rat).Sub(i.Upper, x), new(big.Rat).Sub(x, i.Lower)))
}

// roundUp returns the least double that is not below x.
func roundUp(x *big.Rat) float64 {
	f, _ := x.Float64()
	if exact := new(big.Rat).SetFloat64(f); exact != nil && exact.Cmp(x) < 0 || math.IsInf(f, -1) {
		f = math.Nextafter(f, math.Inf(1))
	}
	return f
}

// clamp returns the interval with both ends brought into bounds.
func (i Interval) clamp(bounds Interval) Interval {
	return Interval{bounds.nearest(i.Lower), bounds.nearest(i.Upper)}
}

// nearest returns a copy of the point of the interval that is nearest to x.
func (i Interval) nearest(x *big.Rat) *big.Rat {
	return new(big.Rat).Set(least(most(x, i.Lower), i.Upper))
}

// Sqrt returns √x to within a relative 2⁻⁶³, rounded down; it is exact for the
// square of a rational number. A negative x counts as zero.
func Sqrt(x *big.Rat) *big.Rat {
	root, _ := sqrt(x)
	return root
}

// sqrt encloses √x between two rationals, which are equal if it is one of them.
func sqrt(x *big.Rat) (down, up *big.Rat) {
	if x.Sign() <= 0 {
		return new(big.Rat), new(big.Rat)
	}
	// √(a/b) = √(ab)/b, and ⌊√(ab·4ᵏ)⌋ has at least 64 bits.
	ab := new(big.Int).Mul(x.Num(), x.Denom())
	k := uint(max(0, 64-ab.BitLen()/2))
	square := new(big.Int).Lsh(ab, 2*k)
	root := new(big.Int).Sqrt(square)
	scale := new(big.Int).Lsh(x.Denom(), k)
	down = new(big.Rat).SetFrac(root, scale)
	if new(big.Int).Mul(root, root).Cmp(square) == 0 {
		return down, down
	}
	return down, new(big.Rat).SetFrac(root.Add(root, big.NewInt(1)), scale)
}

func least(x, y *big.Rat) *big.Rat {
	if x.Cmp(y) <= 0 {
		return x
	}
	return y
}

func most(x, y *big.Rat) *big.Rat {
	if x.Cmp(y) >= 0 {
		return x
	}
	return y
}
