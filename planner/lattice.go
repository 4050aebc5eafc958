package planner

import (
	"errors"
	"math/big"

	"dpproxy/contribution"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A lattice is the grid of integers on which values are summed: value ≈ integer · step. Dates count in days, and times in microseconds,
// since 2000. All sensitivities follow from the integer limits low and high, by exact arithmetic.
type lattice struct {
	family pgtype.Family
	step   *big.Rat // > 0; a power of ten, or of two for floating-point values
	// scale is 1/step, by which the SQL multiplies.
	scale *big.Int
	// low ≤ high are the bounds in steps, rounded outward.
	low, high int64
	// digits is the number of decimals of the step.
	digits int
	// rounds says that values may be between two integers of the grid, and count at the nearest.
	rounds bool
	// technical says that the bounds serve the computation only: nothing is known of the values.
	technical bool
}

const (
	// maxUnit bounds the contribution of a unit in steps, so that sums per unit fit int64 with room to spare.
	maxUnit = 1 << 60
	// floatBits is the resolution of floating-point values: their bounds span about 2³⁰ steps.
	floatBits = 30
	// freeDigits is the number of decimals of numeric values without a known scale, and maxDigits the largest number for others. There are
	// fewer if the bounds of a row are so large that little more than ten rows would fit into a sum in groups.
	freeDigits = 6
	maxDigits  = 12
	// floatDigits is the number of decimals that are shown of floating-point values.
	floatDigits = 9
	// unboundedBits is the number of bits of values without bounds, in steps.
	unboundedBits = 40
)

var errTooWide = errors.New("bounds too wide for the lattice")

// latticeOf chooses the grid of the values of an expression within an interval: whole numbers for integers, the scale for numerics, and a
// power of two for floats, by the bounds.
func latticeOf(e scalar.Expr, digits int, known bool, in scalar.Interval) (lattice, error) {
	l := lattice{family: e.Type().Family(), scale: big.NewInt(1)}
	switch l.family { //nolint:exhaustive // the others count in whole units
	case pgtype.NumericFamily:
		exact := freeDigits
		if known {
			exact = digits
		}
		l.digits = numericDigits(in, min(exact, maxDigits))
		l.rounds = !known || digits > l.digits
		l.scale.Exp(big.NewInt(10), big.NewInt(int64(l.digits)), nil)
	case pgtype.FloatFamily:
		l.scale.Lsh(l.scale, floatShift(in))
		l.digits, l.rounds = floatDigits, true
	}
	l.step = new(big.Rat).SetFrac(big.NewInt(1), l.scale)
	low, ok1 := toInt64(pgtype.Floor(scaled(in.Low, l.scale)))
	high, ok2 := toInt64(pgtype.Ceil(scaled(in.High, l.scale)))
	l.low, l.high = low, high
	spread := new(big.Int).Add(abs64(l.low), abs64(l.high))
	if !ok1 || !ok2 || spread.Mul(spread, big.NewInt(2)).Cmp(big.NewInt(maxUnit)) > 0 {
		return lattice{}, errTooWide
	}
	return l, nil
}

// steps returns a positive value in steps, rounded up, and at least 1.
func (l *lattice) steps(v *big.Rat) int64 {
	n, ok := toInt64(pgtype.Ceil(scaled(v, l.scale)))
	if !ok {
		return maxUnit
	}
	return max(n, 1)
}

// value returns the number that an integer of the lattice represents.
func (l *lattice) value(n int64) *big.Rat {
	return new(big.Rat).Mul(new(big.Rat).SetInt64(n), l.step)
}

// numericDigits returns how many decimals of numeric values are kept.
func numericDigits(in scalar.Interval, most int) int {
	digits, limit := most, new(big.Rat).SetInt64(1<<contribution.GroupedSumBits)
	for digits > 0 && scaled(larger(in), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)).Cmp(limit) > 0 {
		digits--
	}
	return digits
}

// larger returns the larger of the bounds in absolute value.
func larger(in scalar.Interval) *big.Rat {
	low, high := new(big.Rat).Abs(in.Low), new(big.Rat).Abs(in.High)
	if low.Cmp(high) > 0 {
		return low
	}
	return high
}

// floatShift returns k such that the larger bound is about 2^floatBits steps of 2⁻ᵏ.
func floatShift(in scalar.Interval) uint {
	most, bits := larger(in), 0
	if n := new(big.Int).Quo(most.Num(), most.Denom()); n.Sign() > 0 {
		bits = n.BitLen()
	}
	return uint(max(0, floatBits-bits))
}

func scaled(r *big.Rat, scale *big.Int) *big.Rat {
	return new(big.Rat).Mul(r, new(big.Rat).SetInt(scale))
}

func toInt64(n *big.Int) (int64, bool) { return n.Int64(), n.IsInt64() }

func abs64(n int64) *big.Int { return new(big.Int).Abs(big.NewInt(n)) }
