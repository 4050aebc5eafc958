package papertest

import (
	"fmt"
	"math"

	"dpproxy/accountant"
)

// ExpectedQueries returns the mean number of binary randomised responses with
// ε = limit/k each that the filter of realized losses accepts from one object until
// it accepts no more,
//
//	k·tanh(limit/2)/tanh(limit/2k),
//
// where basic composition accepts k: the mean time at which a random walk that
// steps upwards with probability 1/(1+exp(−ε)) first is k steps from where it
// began [Pan 2023, Theorem 6.3, simplified].
func ExpectedQueries(limit float64, k int64) (float64, error) {
	if !(limit > 0) || math.IsInf(limit, 1) || k < 1 {
		return 0, fmt.Errorf("%w: %d queries for a limit of %g", accountant.ErrBudget, k, limit)
	}
	if limit < 1e-8 { // k², to a relative limit²/12
		return float64(k) * float64(k), nil
	}
	return float64(k) * math.Tanh(limit/2) / math.Tanh(limit/(2*float64(k))), nil
}
