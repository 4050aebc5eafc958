package scalar

import "math/big"

// An Interval is where the values of an expression lie if they are not NULL. Ends are
// exact, rounded outward: numbers as they are; false and true as 0 and 1; dates in
// days, timestamps and times in microseconds, both since 2000-01-01; intervals in
// microseconds, with days of 24 hours and months of 30 days as in comparisons.
type Interval struct {
	// Low and High are nil together where there are no bounds.
	Low, High *big.Rat
	// Null says that the expression may be NULL.
	Null bool
	// Least is the smallest non-zero absolute value that a number may have, nil if
	// nothing is known; it keeps products and quotients from underflow and overflow.
	Least *big.Rat
}

// Constant reports whether the expression has one value, or NULL.
func (i Interval) Constant() bool { return i.Low != nil && i.High != nil && i.Low.Cmp(i.High) == 0 }

// Bounded reports whether there are bounds.
func (i Interval) Bounded() bool { return i.Low != nil && i.High != nil }
