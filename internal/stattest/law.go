package stattest

import "math"

// Laplace returns the exact law of discrete Laplace noise,
// P(n) = (1−p)/(1+p)·p^|n| with p = exp(−1/scale).
func Laplace(scale float64) func(int64) float64 {
	norm := math.Tanh(1 / (2 * scale))
	return func(n int64) float64 { return norm * math.Exp(-math.Abs(float64(n))/scale) }
}

// Gaussian returns the exact law of discrete Gaussian noise,
// P(n) = exp(−n²/(2·variance)) / Σ.
func Gaussian(variance float64) func(int64) float64 {
	weight := func(n int64) float64 { return math.Exp(-float64(n) * float64(n) / (2 * variance)) }
	norm := weight(0)
	for n := int64(1); weight(n) > 0; n++ {
		norm += 2 * weight(n)
	}
	return func(n int64) float64 { return weight(n) / norm }
}

// Staircase returns the exact law of discrete staircase noise for a number that changes by at most delta, with a step from 1 to delta
// [Geng-Viswanath 2014].
func Staircase(delta, step int64, epsilon float64) func(int64) float64 {
	b := math.Exp(-epsilon)
	a := (1 - b) / (2*float64(step) + 2*b*float64(delta-step) - (1 - b))
	return func(n int64) float64 {
		size := max(n, -n)
		weight := a * math.Pow(b, float64(size/delta))
		if size%delta >= step {
			weight *= b
		}
		return weight
	}
}

// Cells returns the law of ⌊x/width⌋ for a continuous x with the given cumulative distribution function. It is the law of noise that is
// rounded down to multiples of width.
func Cells(cdf func(float64) float64, width float64) func(int64) float64 {
	return func(n int64) float64 { return cdf(float64(n+1)*width) - cdf(float64(n)*width) }
}
