package papertest

import "math"

// OptimalKeep returns the largest probability with which a selection of partitions may keep
// one of n units where it tells nothing else, and its decision on each partition is (ε, δ)-DP:
// π(0) = 0 and π(n+1) = min(exp(ε)·π(n) + δ, 1 − exp(−ε)·(1 − π(n) − δ), 1)
// [Desfontaines-Voss-Gipson-Mandayam 2022, Theorem 1].
func OptimalKeep(epsilon, delta float64, n int64) float64 {
	keep := 0.0
	for range n {
		keep = min(math.Exp(epsilon)*keep+delta, 1-math.Exp(-epsilon)*(1-keep-delta), 1)
	}
	return keep
}
