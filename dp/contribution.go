package dp

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrContribution is wrapped by the errors for contributions that have no
// sensitivity: limits below one, inverted bounds, or a product beyond an int64.
var ErrContribution = errors.New("dp: a contribution without a sensitivity")

// A Contribution limits the rows of one privacy unit that count: in at most
// Partitions groups, and at most Rows in each of them. Its methods return how far
// those rows can move exact aggregates when the unit is added or removed. Which
// rows and groups count must depend on the unit's own rows alone.
//
// All numbers are integers in units of a lattice; bounds that are none are rounded
// outward by the code that clamps to them. A sensitivity is never below 1, which a
// mechanism needs. Code that clamps the sum of a unit in a group as a whole,
// instead of each row, has a Contribution with one row.
type Contribution struct {
	Partitions int64 // k ≥ 1
	Rows       int64 // m ≥ 1
}

// A Range bounds a clamped value: Lower ≤ x ≤ Upper, in lattice units.
type Range struct{ Lower, Upper int64 }

// Centre returns c = ⌊(Lower+Upper)/2⌋, from which centred sums and squares count.
func (r Range) Centre() int64 {
	return int64(uint64(r.Lower) + r.width()/2) // modulo 2⁶⁴, so that no sum overflows
}

// Half returns the largest distance h of a value from the centre, ⌈(Upper−Lower)/2⌉.
// On a lattice twice as fine no half is rounded.
func (r Range) Half() uint64 { return r.width() - r.width()/2 }

// width returns Upper − Lower.
func (r Range) width() uint64 { return uint64(r.Upper) - uint64(r.Lower) }

// Absolute returns the largest absolute value.
func (r Range) Absolute() uint64 { return max(magnitude(r.Lower), magnitude(r.Upper)) }

// Count returns the sensitivity of the number of rows: m in each of k groups.
func (c Contribution) Count() (Sensitivity, error) { return c.sensitivity(1) }

// CountDistinctUnits returns the sensitivity of the number of units: 1 in each of k
// groups.
func (c Contribution) CountDistinctUnits() (Sensitivity, error) {
	c.Rows = min(c.Rows, 1)
	return c.sensitivity(1)
}

// Sum returns the sensitivity of Σx: m·max(|Lower|, |Upper|).
func (c Contribution) Sum(r Range) (Sensitivity, error) {
	if err := r.check(); err != nil {
		return Sensitivity{}, err
	}
	return c.sensitivity(r.Absolute())
}

// CentredSum returns the sensitivity of Σ(x − c), c the centre: m·h.
func (c Contribution) CentredSum(r Range) (Sensitivity, error) {
	if err := r.check(); err != nil {
		return Sensitivity{}, err
	}
	return c.sensitivity(r.Half())
}

// CentredSquares returns the sensitivity of Σ((x − c)²/unit − offset), each square
// rounded to an integer either way, in units of unit lattice units squared, and
// the offset, which halves the sensitivity. With q = ⌈h²/unit⌉, the rounded squares
// are from 0 to q, the offset is ⌊q/2⌋, and the sensitivity m·⌈q/2⌉.
func (c Contribution) CentredSquares(r Range, unit int64) (s Sensitivity, offset int64, err error) {
	if err := r.check(); err != nil {
		return Sensitivity{}, 0, err
	}
	if unit < 1 {
		return Sensitivity{}, 0, fmt.Errorf("%w: squares in units of %d", ErrContribution, unit)
	}
	q, ok := productIn(r.Half(), r.Half(), uint64(unit))
	if !ok {
		return Sensitivity{}, 0, fmt.Errorf("%w: the squares of values from %d to %d do not fit", ErrContribution, r.Lower, r.Upper)
	}
	if s, err = c.sensitivity(q - q/2); err != nil {
		return Sensitivity{}, 0, err
	}
	return s, int64(q / 2), nil
}

// CentredProducts returns the sensitivity of Σ(x − c)(y − d)/unit, c and d the centres, each
// product rounded to an integer either way, in units of unit lattice units of x times y:
// m·⌈h·k/unit⌉, with h and k the halves. Products have either sign, so that no offset halves
// it.
func (c Contribution) CentredProducts(x, y Range, unit int64) (Sensitivity, error) {
	for _, r := range []Range{x, y} {
		if err := r.check(); err != nil {
			return Sensitivity{}, err
		}
	}
	if unit < 1 {
		return Sensitivity{}, fmt.Errorf("%w: products in units of %d", ErrContribution, unit)
	}
	q, ok := productIn(x.Half(), y.Half(), uint64(unit))
	if !ok {
		return Sensitivity{}, fmt.Errorf("%w: the products of values from %d to %d and %d to %d do not fit",
			ErrContribution, x.Lower, x.Upper, y.Lower, y.Upper)
	}
	return c.sensitivity(q)
}

// productIn returns ⌈h·k/unit⌉ = ⌊(h·k + unit − 1)/unit⌋, computed in 128 bits, false if it does
// not fit: h and k are at most 2⁶³.
func productIn(h, k, unit uint64) (q uint64, ok bool) {
	hi, lo := bits.Mul64(h, k)
	lo, carry := bits.Add64(lo, unit-1, 0)
	if hi += carry; hi >= unit {
		return 0, false
	}
	q, _ = bits.Div64(hi, lo, unit)
	return q, true
}

// sensitivity returns that of a sum to which a row adds at most each.
func (c Contribution) sensitivity(each uint64) (Sensitivity, error) {
	if c.Partitions < 1 || c.Rows < 1 {
		return Sensitivity{}, fmt.Errorf("%w: %d rows in %d partitions", ErrContribution, c.Rows, c.Partitions)
	}
	hi, change := bits.Mul64(uint64(c.Rows), max(each, 1))
	if hi > 0 || change > math.MaxInt64 {
		return Sensitivity{}, fmt.Errorf("%w: %d rows of up to %d do not fit", ErrContribution, c.Rows, each)
	}
	return Sensitivity{L0: c.Partitions, LInf: int64(change)}, nil
}

func (r Range) check() error {
	if r.Lower > r.Upper {
		return fmt.Errorf("%w: bounds from %d to %d", ErrContribution, r.Lower, r.Upper)
	}
	return nil
}

// magnitude returns |n|, also of the least int64.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
