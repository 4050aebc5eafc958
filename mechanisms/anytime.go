package mechanisms

import (
	"fmt"
	"math"
)

// ruleSlack is more than the relative error of a few operations on doubles.
const ruleSlack = 1e-12

// Anytime bounds the errors of the estimates at which a chain may stop, from releases
// alone: for any number of rounds at any precisions, each of which
// may depend on all releases before it. With s = 1/σ² and a parameter τ > 0,
// which is chosen before anything is measured, as β is, the error of an estimate
// stays, at all times at once with probability 1 − β, within
//
//	√((s + τ)·(ln((s + τ)/τ) + 2·ln(1/β)))/s,
//
// since s times the error is a sum of independent sub-Gaussian terms with the
// variances 1/v, whose mixture supermartingale this is [Robbins 1970; Howard et
// al. 2021]. That needs no lattice correction. In units of σ it is narrowest, and
// close to 3 for β = 0.05, at the precision for which it was made; tenfold more or
// less precision widens it by a tenth or a quarter.
//
// The times are those of all sessions together in which the same exact values are
// measured and the measurements remembered. A boundary that is tuned anew in each
// of them, to the precision that is wanted now, is left more and more often.
type Anytime struct {
	beta, sigma float64 // as chosen
	logBeta     float64 // 2·ln(1/β)
	tau         float64
}

// NewAnytime returns the boundary that holds at all times at once with probability
// 1 − beta, and is narrowest at sigma, which must be chosen in advance.
func NewAnytime(beta, sigma float64) (Anytime, error) {
	switch {
	case !(beta >= leastAlpha && beta < 1):
		return Anytime{}, fmt.Errorf("%w: an error probability of %v", ErrParameter, beta)
	case !(sigma >= 1e-100 && sigma <= 1e100):
		return Anytime{}, fmt.Errorf("%w: a standard deviation of %v", ErrParameter, sigma)
	}
	logBeta := -2 * math.Log(beta)
	// The width in units of σ is √((1 + 1/x)·(ln(1 + x) + 2·ln(1/β))) with x = s/τ,
	// and least where x is the second factor.
	x := logBeta + 1
	for range 64 {
		x = math.Log1p(x) + logBeta
	}
	return Anytime{beta, sigma, logBeta, 1 / (sigma * sigma * x)}, nil
}

// HalfWidth returns c such that, with the probability of the boundary, |error| ≤ c whenever the
// estimate's standard deviation is sigma. It increases with sigma, and is +Inf where nothing
// can be said.
func (a Anytime) HalfWidth(sigma float64) float64 {
	if !(sigma > 0) || math.IsInf(sigma, 1) {
		return math.Inf(1)
	}
	x := 1 / (sigma * sigma * a.tau)
	return math.Sqrt((1+1/x)*(math.Log1p(x)+a.logBeta)) * sigma * (1 + ruleSlack)
}
