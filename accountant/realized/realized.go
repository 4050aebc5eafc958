package realized

import (
	"errors"
	"fmt"
	"math"
)

// ErrParameter is wrapped by the errors for arguments that make no sense.
var ErrParameter = errors.New("realized: invalid parameter")

// lossSlack is added to losses that were computed in doubles, relatively and
// absolutely: it is more than the rounding error of sums of up to 10⁴ logarithms.
// A realized loss is an upper bound.
const lossSlack = 1e-12

// up raises a loss above its rounding error, of sums of the size given.
func up(loss, size float64) float64 {
	if loss <= 0 {
		return 0
	}
	return loss + lossSlack*size
}

// Admits is the filter's rule: it reports whether an object with the realized loss
// may answer with a further loss of at most epsilon under the limit. Losses are
// in any one unit; integers are exact.
func Admits[L int64 | float64](loss, epsilon, limit L) bool {
	// As a difference, integers cannot overflow.
	return loss >= 0 && epsilon > 0 && limit >= epsilon && loss <= limit-epsilon
}

// ExpectedQueries returns the mean number of binary randomised responses with
// ε = limit/k each that the filter accepts from one object until it accepts no
// more,
//
//	k·tanh(limit/2)/tanh(limit/2k),
//
// where basic composition accepts k: the mean time at which a random walk that
// steps upwards with probability 1/(1+exp(−ε)) first is k steps from where it
// began [Pan 2023, Theorem 6.3, simplified].
func ExpectedQueries(limit float64, k int64) (float64, error) {
	if !positive(limit) || k < 1 {
		return 0, fmt.Errorf("%w: %d queries for a limit of %g", ErrParameter, k, limit)
	}
	if limit < 1e-8 { // k², to a relative limit²/12
		return float64(k) * float64(k), nil
	}
	return float64(k) * math.Tanh(limit/2) / math.Tanh(limit/(2*float64(k))), nil
}

// positive reports whether x is a number above 0.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
