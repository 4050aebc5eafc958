package estimate

import "math/big"

// Count estimates a count from a noisy one: of rows, of privacy units, or of
// different values.
//
// COUNT(DISTINCT unit) is a plain count, to which a unit contributes one.
// COUNT(DISTINCT x) of anything else counts the different values among those
// kept after each unit's are bounded to some number m, which is then how much a
// unit can change the count. A value is lost if every unit that has it kept
// others, so that the count that is measured can only be too low. How much too
// low depends on the rows, and is in no interval: with m at least the number of
// values that any unit has, nothing.
type Count struct{ err *big.Rat }

// NewCount returns the estimator for a count with the given noise, whose
// intervals fail with probability at most alpha, above 0 and below 1.
func NewCount(noise Tail, alpha float64) (Count, error) {
	c, err := bound(noise, alpha)
	return Count{c}, err
}

// Value returns max(count, 0). Without the maximum a count is unbiased; with it,
// sums of many small counts are too high.
func (Count) Value(count *big.Int) *big.Int {
	if count.Sign() < 0 {
		return new(big.Int)
	}
	return new(big.Int).Set(count)
}

// Interval returns [count ± c] without what is negative. It holds the estimate
// and, with probability at least 1−alpha, the count.
func (c Count) Interval(count *big.Int) Interval {
	i := around(count, c.err)
	zero := new(big.Rat)
	return Interval{most(i.Lower, zero), most(i.Upper, zero)}
}
