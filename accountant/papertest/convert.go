package papertest

import (
	"fmt"
	"math"

	"dpproxy/accountant"
	"dpproxy/mechanisms"
)

// Rho returns the largest ρ for which [accountant.Delta] is at most δ, for ε > 0 and δ from
// above 0 to below 1, correct to a relative 10⁻¹⁰. A limit of a ledger
// comes from [accountant.RhoMax].
func Rho(epsilon, delta float64) float64 {
	low, high := 0.0, 1.0
	for accountant.Delta(high, epsilon) <= delta {
		high *= 2
	}
	for range 100 {
		mid := (low + high) / 2
		if accountant.Delta(mid, epsilon) <= delta {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// slack is more than the relative error of [mechanisms.GaussianDelta].
const slack = 1e-10

// GaussianSigma returns the least standard deviation with which continuous
// Gaussian noise on an answer of sensitivity l2 is (ε, δ)-DP, rounded up by at
// most a relative 10⁻⁹. δ is from 10⁻²⁵⁰ to below 1.
func GaussianSigma(l2, epsilon, delta float64) (float64, error) {
	if !positiveFinite(l2) || !(epsilon >= 0) || math.IsInf(epsilon, 1) || !(delta >= 1e-250) || delta >= 1 {
		return 0, fmt.Errorf("%w: Gaussian noise for a sensitivity of %v at ε = %v, δ = %v", mechanisms.ErrParameter, l2, epsilon, delta)
	}
	// at is δ for the shift s = Δ/σ.
	at := func(s float64) float64 {
		d, _ := mechanisms.GaussianDelta(1, s, epsilon) // s and epsilon are in range
		return d
	}
	limit := delta * (1 - slack)
	// δ falls as the noise grows, and grows with the shift.
	low := 1.0
	for at(low) > limit {
		low /= 2
	}
	for at(2*low) <= limit {
		low *= 2
	}
	high := 2 * low
	for range 64 {
		mid := low + (high-low)/2
		if at(mid) <= limit {
			low = mid
		} else {
			high = mid
		}
	}
	if sigma := l2 / low * (1 + slack); positiveFinite(sigma) {
		return sigma, nil
	}
	return 0, fmt.Errorf("%w: no double holds the noise for a sensitivity of %v at ε = %v, δ = %v",
		mechanisms.ErrParameter, l2, epsilon, delta)
}

// positiveFinite reports whether x is a number above 0.
func positiveFinite(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
