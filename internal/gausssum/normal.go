package gausssum

import "math"

// NormalBetween returns the mass of the normal law between a ≤ b, in units of √2 standard deviations. It computes it on the side on which
// no digits cancel.
func NormalBetween(a, b float64) float64 {
	switch {
	case b <= 0:
		return NormalBetween(-b, -a)
	case a >= 0:
		return (math.Erfc(a) - math.Erfc(b)) / 2
	}
	return (math.Erf(b) - math.Erf(a)) / 2
}
