package realized

import (
	"fmt"
	"math"
	"slices"
)

const (
	// maxCategories bounds the state of one object.
	maxCategories = 1 << 20
	// maxLevel bounds the ε of one response, in units.
	maxLevel = 1 << 40
)

// Responses is the state of one object that answered by randomised response over
// k categories: the output is the value with probability exp(ε)/(exp(ε)+k−1), and
// each other category with 1/(exp(ε)+k−1). Losses are integers in a unit of the
// caller's choice, and exact.
//
// An output y multiplies the likelihood of the value y by exp(ε) beside all
// others, so that ln P(x) is, but for a constant, the sum of the ε of the outputs
// that were x. ℒ is the largest of these sums less the smallest.
type Responses struct {
	sums []int64
}

// NewResponses returns the state before any output, for k ≥ 2 categories.
func NewResponses(k int) (*Responses, error) {
	if k < 2 || k > maxCategories {
		return nil, fmt.Errorf("%w: %d categories", ErrParameter, k)
	}
	return &Responses{make([]int64, k)}, nil
}

// Observe adds the output y, a category from 0, of a response with ε = epsilon
// units.
func (r *Responses) Observe(y int, epsilon int64) error {
	switch {
	case y < 0 || y >= len(r.sums):
		return fmt.Errorf("%w: category %d of %d", ErrParameter, y, len(r.sums))
	case epsilon < 1 || epsilon > maxLevel || r.sums[y] > math.MaxInt64-epsilon:
		return fmt.Errorf("%w: a response with ε = %d units", ErrParameter, epsilon)
	}
	r.sums[y] += epsilon
	if least := slices.Min(r.sums); least > 0 {
		for x := range r.sums {
			r.sums[x] -= least
		}
	}
	return nil
}

// Loss returns ℒ in units.
func (r *Responses) Loss() int64 { return slices.Max(r.sums) - slices.Min(r.sums) }

// Sums returns ln P(x) of each category x in units, the least being 0: the whole
// state.
func (r *Responses) Sums() []int64 { return slices.Clone(r.sums) }
