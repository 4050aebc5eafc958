package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// RandomizedResponse is k-ary randomised response: it tells one of k categories
// truthfully with some probability, and else each other one alike,
//
//	P(y) = exp(ε)/(exp(ε) + k − 1) for y = x, 1/(exp(ε) + k − 1) for any other y.
//
// The guarantee: P(y) ≤ exp(ε)·P′(y) for the laws of any two values x and x′, that
// is ε-DP of one value, whatever it is (local differential privacy)
// [Warner 1965, Kairouz-Oh-Viswanath 2014].
//
// The caller must ensure that k, and the meaning of each category, do not depend
// on protected rows, and charge for each response.
//
// The sampler compares a uniform number with enclosures of the first probability.
// It takes the same number of words whatever x is.
type RandomizedResponse struct {
	epsilon *big.Rat
	k       int64
	truth   chance
}

// NewRandomizedResponse returns the mechanism for categories 0 to k−1, k ≥ 2, at
// ε = epsilonPico·10⁻¹².
func NewRandomizedResponse(k, epsilonPico int64) (RandomizedResponse, error) {
	if k < 2 {
		return RandomizedResponse{}, fmt.Errorf("%w: randomised response with %d categories", ErrParameter, k)
	}
	epsilon, err := pureEpsilon(epsilonPico)
	if err != nil {
		return RandomizedResponse{}, err
	}
	truth := func(precision uint) enclosure { return truthEnclosure(k, epsilon, precision) }
	return RandomizedResponse{epsilon, k, newChance(truth)}, nil
}

// truthEnclosure encloses 1/(1 + (k−1)·exp(−ε)).
func truthEnclosure(k int64, epsilon *big.Rat, precision uint) enclosure {
	work := precision + 64 + seriesGuard
	lie := expEnclosure(epsilon, work)
	one, others := new(big.Int).Lsh(big.NewInt(1), work), big.NewInt(k-1)
	low, high := new(big.Int).Mul(lie.lo, others), new(big.Int).Mul(lie.hi, others)
	low.Add(low, one)
	high.Add(high, one)
	one.Lsh(one, precision)
	return enclosure{new(big.Int).Quo(one, high), ceilDiv(one, low)}
}

// Event describes one response, for a pricer.
func (r RandomizedResponse) Event() dp.Event {
	return dp.PureEvent{Epsilon: new(big.Rat).Set(r.epsilon)}
}

// String writes the mechanism for plans.
func (r RandomizedResponse) String() string {
	epsilon, _ := r.epsilon.Float64()
	return fmt.Sprintf("randomized response epsilon=%.6g k=%d", epsilon, r.k)
}

// Respond draws the response to v. A value that is no category counts as the
// nearest one, 0 or k−1, so that nothing tells that it was none. The caller must
// have charged Event, durably, before.
func (r RandomizedResponse) Respond(src Source, v Private) Released {
	x := within(v.reveal(), new(big.Int), big.NewInt(r.k-1)).Int64()
	return Released{big.NewInt(r.respond(src, x))}
}

// respond draws the response to x, from 0 to k−1.
func (r RandomizedResponse) respond(src Source, x int64) int64 {
	truth := r.truth.happens(src)
	y := int64(uniform(src, uint64(r.k-1)))
	switch {
	case truth:
		return x
	case y >= x:
		return y + 1
	}
	return y
}

// Law returns the probabilities of the true category and of each other one.
func (r RandomizedResponse) Law() (truth, other float64) {
	epsilon, _ := r.epsilon.Float64()
	odds := math.Exp(-epsilon)
	truth = 1 / (1 + float64(r.k-1)*odds)
	return truth, odds * truth
}

// gap returns the difference of the two probabilities of Law, without cancelling.
func (r RandomizedResponse) gap() float64 {
	epsilon, _ := r.epsilon.Float64()
	truth, _ := r.Law()
	return -math.Expm1(-epsilon) * truth
}

// Frequency estimates which share π of n values is in a category that count of
// their n responses named: with p and q the probabilities of Law, and c = count,
//
//	π̂ = (c/n − q)/(p − q), of variance (π·p(1−p) + (1−π)·q(1−q))/(n·(p−q)²).
//
// The estimate is unbiased; it may lie outside of 0 to 1. The standard error is
// the one that responses add to the share among these n values, with π̂ moved to
// 0 to 1 in place of π; it does not contain the error of these n as a sample.
func (r RandomizedResponse) Frequency(count, n int64) (share, stdErr float64, err error) {
	if n < 1 || count < 0 || count > n {
		return 0, 0, fmt.Errorf("%w: %d of %d responses", ErrParameter, count, n)
	}
	p, q := r.Law()
	gap := r.gap()
	share = (float64(count)/float64(n) - q) / gap
	likely := min(max(share, 0), 1)
	// 1 − p is (k−1)·q, without cancelling.
	variance := likely*p*float64(r.k-1)*q + (1-likely)*q*(1-q)
	return share, math.Sqrt(variance/float64(n)) / gap, nil
}

// BoundedMean tells one bit of a number x between two bounds a < b, from which the
// mean of many can be estimated. With t = (x − a)/(b − a),
//
//	P(1) = 1/(exp(ε) + 1) + t·(exp(ε) − 1)/(exp(ε) + 1).
//
// The guarantee: P(y) ≤ exp(ε)·P′(y) for the laws of any two numbers x and x′, that
// is ε-DP of one number (local differential privacy)
// [Ding-Kulkarni-Yekhanin 2017].
//
// The caller must ensure that the bounds do not depend on protected rows, and
// charge for each bit.
//
// The sampler draws a bit of probability t by a uniform integer below b − a, and
// the binary randomised response to that bit. It takes as many words whatever x is.
type BoundedMean struct {
	lower, upper int64
	response     RandomizedResponse
}

// NewBoundedMean returns the mechanism for integers from lower to upper, in lattice
// units, at ε = epsilonPico·10⁻¹².
func NewBoundedMean(lower, upper, epsilonPico int64) (BoundedMean, error) {
	if lower >= upper {
		return BoundedMean{}, fmt.Errorf("%w: bounds %d and %d", ErrParameter, lower, upper)
	}
	response, err := NewRandomizedResponse(2, epsilonPico)
	return BoundedMean{lower, upper, response}, err
}

// Event describes one bit, for a pricer.
func (b BoundedMean) Event() dp.Event { return b.response.Event() }

// String writes the mechanism for plans.
func (b BoundedMean) String() string {
	epsilon, _ := b.response.epsilon.Float64()
	return fmt.Sprintf("bounded mean epsilon=%.6g bounds=%d to %d", epsilon, b.lower, b.upper)
}

// Respond draws the bit of v, 0 or 1. A number beyond a bound counts as the bound.
// The caller must have charged Event, durably, before.
func (b BoundedMean) Respond(src Source, v Private) Released {
	x := within(v.reveal(), big.NewInt(b.lower), big.NewInt(b.upper)).Int64()
	bit := int64(0)
	// Differences of int64 values do not overflow uint64.
	if uniform(src, uint64(b.upper)-uint64(b.lower)) < uint64(x)-uint64(b.lower) {
		bit = 1
	}
	return Released{big.NewInt(b.response.respond(src, bit))}
}

// Mean estimates the mean of n numbers of which ones have the bit 1: with
// π = ones/n,
//
//	a + (b − a)·((exp(ε) + 1)·π − 1)/(exp(ε) − 1).
//
// The estimate is unbiased; it may lie beyond the bounds. The standard error is the
// one that the bits add to the mean of these n numbers, and an upper bound of it: it
// takes every number to have the same P(1), which is π moved to where that can be.
func (b BoundedMean) Mean(ones, n int64) (mean, stdErr float64, err error) {
	share, _, err := b.response.Frequency(ones, n)
	if err != nil {
		return 0, 0, err
	}
	p, q := b.response.Law()
	pi := min(max(float64(ones)/float64(n), q), p)
	width := float64(b.upper) - float64(b.lower)
	stdErr = width * math.Sqrt(pi*(1-pi)/float64(n)) / b.response.gap()
	return float64(b.lower) + width*share, stdErr, nil
}
