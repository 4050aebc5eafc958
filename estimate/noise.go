package estimate

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// ErrParameter is wrapped by the errors for parameters that describe no estimator.
var ErrParameter = errors.New("estimate: invalid parameter")

// A Tail bounds the noise of one released integer. Every mechanism has it.
type Tail interface {
	// Quantile returns c ≥ 0 with P(|noise| > c) ≤ alpha, in units of the integer.
	Quantile(alpha float64) float64
}

// Noise is a Tail whose spread is known as well, of a law symmetric about zero.
// Every mechanism that adds noise to integers has it.
type Noise interface {
	Tail
	// StdDev returns the standard deviation, in units of the integer.
	StdDev() float64
}

// bound returns the quantile of a tail as an exact number.
func bound(t Tail, alpha float64) (*big.Rat, error) {
	if t == nil || !(alpha > 0 && alpha < 1) {
		return nil, fmt.Errorf("%w: noise %v at alpha %v", ErrParameter, t, alpha)
	}
	c := t.Quantile(alpha)
	if !(c >= 0) || math.IsInf(c, 1) {
		return nil, fmt.Errorf("%w: the noise has no bound at alpha %v", ErrParameter, alpha)
	}
	return new(big.Rat).SetFloat64(c), nil
}

// around returns [x − c, x + c].
func around(x *big.Int, c *big.Rat) Interval {
	r := new(big.Rat).SetInt(x)
	return Interval{new(big.Rat).Sub(r, c), r.Add(r, c)}
}

// atLeast returns max(n, x) as a rational.
func atLeast(x *big.Int, n int64) *big.Rat {
	return most(new(big.Rat).SetInt(x), new(big.Rat).SetInt64(n))
}
