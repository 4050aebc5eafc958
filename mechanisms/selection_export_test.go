package mechanisms

import "math/big"

// ExpEnclosure returns lo and hi with lo ≤ exp(−x)·2ᵖ ≤ hi, for a precision p.
func ExpEnclosure(x *big.Rat, precision uint) (lo, hi *big.Int) {
	e := expEnclosure(x, precision)
	return e.lo, e.hi
}

// PowerEnclosure is ExpEnclosure of x = rate·d by way of the digits of d.
func PowerEnclosure(rate *big.Rat, d *big.Int, precision uint) (lo, hi *big.Int) {
	e := newPowers(rate, precision).at(d)
	return e.lo, e.hi
}

// SelectFrom is Select without weights of its own, begun at another precision.
func (e Exponential) SelectFrom(src Source, precision uint, weights []uint64, scores []Private) int {
	return e.choose(src, newPowers(e.rate, precision), weights, distancesOf(scores))
}

// Needed returns the threshold that units alone in k partitions need.
func (s WeightedSelection) Needed(k int64) float64 {
	t := weightedThreshold{variance: s.noise.varianceDouble(), delta: s.delta}
	t.raise(k)
	return t.best / WeightUnit
}
