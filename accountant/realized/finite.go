package realized

import (
	"fmt"
	"math"
	"slices"
)

// Finite is the state of one object with a value among finitely many, whatever the
// laws of its answers: the logarithm of each value's likelihood.
type Finite struct {
	logs []float64
	size float64 // the sum of the largest absolute logarithms that were added
}

// NewFinite returns the state before any output, for values 0 to size−1.
func NewFinite(size int) (*Finite, error) {
	if size < 2 || size > maxCategories {
		return nil, fmt.Errorf("%w: a domain of %d values", ErrParameter, size)
	}
	return &Finite{logs: make([]float64, size)}, nil
}

// Observe adds an output that has the given probability for each value. All are
// above 0: an output that excludes a value has an infinite loss.
func (f *Finite) Observe(probability func(x int) float64) error {
	more, size := make([]float64, len(f.logs)), 0.0
	for x := range more {
		p := probability(x)
		if !(p > 0 && p <= 1) {
			return fmt.Errorf("%w: an output with probability %g for the value %d", ErrParameter, p, x)
		}
		more[x] = f.logs[x] + math.Log(p)
		size = math.Max(size, -math.Log(p))
	}
	f.logs, f.size = more, f.size+size
	return nil
}

// Loss returns ℒ, rounded up. It is the odometer after the last output, and may be
// less than before it.
func (f *Finite) Loss() float64 {
	return up(slices.Max(f.logs)-slices.Min(f.logs), f.size)
}

// LogLikelihood returns ln P(x) of each value x.
func (f *Finite) LogLikelihood() []float64 { return slices.Clone(f.logs) }
