package planner

import (
	"errors"
	"math/big"
)

// A lattice is the grid of integers that a column's values are summed on: value ≈
// integer · step. All of a sensitivity follows from the integer limits low and
// high, by exact arithmetic.
type lattice struct {
	step *big.Rat // > 0; a power of ten, or of two for floating-point columns
	// scale is 1/step as the SQL multiplies by it.
	scale *big.Int
	// low ≤ high are the bounds in steps, rounded outward.
	low, high int64
	// digits is how many decimals the step has.
	digits int
}

const (
	// maxUnit bounds a unit's contribution in lattice steps, so that sums per
	// unit fit int64 with room to spare.
	maxUnit = 1 << 60
	// floatBits is the resolution of floating-point columns: their bounds span
	// about 2³⁰ steps.
	floatBits = 30
	// freeDigits are the decimals kept of a numeric column without a scale.
	freeDigits = 6
)

var errTooWide = errors.New("bounds too wide for the lattice")

// latticeOf chooses the grid of a column: whole numbers for integers, the
// column's own scale for numeric, a power of two from the bounds for floats.
func latticeOf(col *column, rows int64) (lattice, error) {
	l := lattice{scale: big.NewInt(1)}
	switch columnFamily(col.Type) {
	case intFamily:
	case numericFamily:
		l.digits = numericScale(col.Type.Mod, col.Type.BaseMod, col.Type.Kind)
		l.scale.Exp(big.NewInt(10), big.NewInt(int64(l.digits)), nil)
	case floatFamily:
		l.scale.Lsh(l.scale, floatShift(col.bounds))
		l.digits = 9
	case noFamily, boolFamily, textFamily, dateFamily, instantFamily, uuidFamily, enumFamily: // never summed
	}
	l.step = new(big.Rat).SetFrac(big.NewInt(1), l.scale)
	low, ok1 := toInt64(floorRat(scaled(col.bounds.Low, l.scale)))
	high, ok2 := toInt64(ceilRat(scaled(col.bounds.High, l.scale)))
	l.low, l.high = low, high
	if !ok1 || !ok2 || new(big.Int).Mul(l.spread(), big.NewInt(2*rows)).Cmp(big.NewInt(maxUnit)) > 0 {
		return lattice{}, errTooWide
	}
	return l, nil
}

// spread bounds |low|, |high| and high − low.
func (l *lattice) spread() *big.Int {
	return new(big.Int).Add(abs64(l.low), abs64(l.high))
}

// absolute returns the largest contribution of one row to a sum.
func (l *lattice) absolute() int64 { return max(abs(l.low), abs(l.high), 1) }

// centred returns the largest contribution of one row to a centred sum, in half steps.
func (l *lattice) centred() int64 { return max(l.high-l.low, 1) }

// numericScale returns the scale in a numeric typmod, or freeDigits without one.
func numericScale(mod, baseMod int32, kind byte) int {
	if kind == 'd' {
		mod = baseMod
	}
	if mod < 4 {
		return freeDigits
	}
	scale := int((mod - 4) & 0x7ff)
	if scale >= 1024 { // a negative scale, stored in eleven bits
		return 0
	}
	return scale
}

// floatShift returns k such that the larger bound is about 2^floatBits steps of 2⁻ᵏ.
func floatShift(b *Bounds) uint {
	larger := new(big.Rat).Abs(b.Low)
	if h := new(big.Rat).Abs(b.High); h.Cmp(larger) > 0 {
		larger = h
	}
	bits := 0
	if n := new(big.Int).Quo(larger.Num(), larger.Denom()); n.Sign() > 0 {
		bits = n.BitLen()
	}
	return uint(max(0, floatBits-bits))
}

func scaled(r *big.Rat, scale *big.Int) *big.Rat {
	return new(big.Rat).Mul(r, new(big.Rat).SetInt(scale))
}

func floorRat(r *big.Rat) *big.Int {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	_ = m // Euclidean division by a positive number rounds down
	return q
}

func ceilRat(r *big.Rat) *big.Int {
	return new(big.Int).Neg(floorRat(new(big.Rat).Neg(r)))
}

func toInt64(n *big.Int) (int64, bool) { return n.Int64(), n.IsInt64() }

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func abs64(n int64) *big.Int { return new(big.Int).Abs(big.NewInt(n)) }
