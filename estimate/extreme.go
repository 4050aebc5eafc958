package estimate

import "fmt"

// An Extreme estimates MIN or MAX from a [Tree]: the outermost bucket at which the
// rows counted from outside, the bucket's own included, are more than noise alone
// would show in any empty part of the grid.
//
// With probability at least 1−alpha it is not outside of the true extreme's
// bucket. It is biased inwards, by as many rows as the noise may hide: MIN is in
// truth a quantile of a small rank, of about the rank error. One row far from the
// others is not found; no private estimate can find it.
type Extreme struct {
	max        bool
	thresholds []float64  // at each boundary
	ranks      *RankError // at alpha, for the interval
}

// Min returns the estimator of MIN, for alpha from 10⁻⁹ to below 1.
func (t *Tree) Min(alpha float64) (*Extreme, error) { return t.extreme(alpha, false) }

// Max returns the estimator of MAX, for alpha from 10⁻⁹ to below 1.
func (t *Tree) Max(alpha float64) (*Extreme, error) { return t.extreme(alpha, true) }

// extreme takes thresholds that each of the boundaries exceeds, on the one side
// that matters, with probability alpha/boundaries.
func (t *Tree) extreme(alpha float64, largest bool) (*Extreme, error) {
	q := 0.0
	if largest {
		q = 1
	}
	if !(alpha < 1) {
		return nil, fmt.Errorf("%w: alpha %v", ErrParameter, alpha)
	}
	ranks, err := t.RankError(q, alpha)
	if err != nil {
		return nil, err
	}
	all, err := t.RankError(q, min(alpha, 2*alpha/float64(t.shape.Buckets())))
	if err != nil {
		return nil, err
	}
	return &Extreme{max: largest, thresholds: all.e, ranks: ranks}, nil
}

// Most returns by how many rows, at most, the inner end of the interval and the estimate are away from the extreme, but with
// the same probability: noise is below a threshold and an error above the other, each.
func (e *Extreme) Most() float64 {
	most := 0.0
	for _, t := range e.thresholds {
		most = max(most, t)
	}
	return most + e.ranks.Most()
}

// Value returns the outer end of the estimated bucket, a lattice integer, or
// false if no count is more than noise alone would show: there are few rows, or
// none. d must be of the tree that e is of.
func (e *Extreme) Value(d *Distribution) (x int64, ok bool) {
	n := d.tree.shape.Buckets()
	for j := range n {
		if e.max {
			j = n - 1 - j
		}
		first, last := d.tree.shape.Bucket(j)
		if _, above := d.sides(j); e.max && above > e.thresholds[j] {
			return last, true
		}
		if below, _ := d.sides(j + 1); !e.max && below > e.thresholds[j+1] {
			return first, true
		}
	}
	return 0, false
}

// Interval returns an interval of lattice integers that holds the estimate and,
// with probability at least 1−alpha, the extreme of the rows as they were
// measured, if there are any. Its outer end is mostly the bound of the grid:
// nothing can show that no single row is far out.
func (e *Extreme) Interval(d *Distribution) (lower, upper int64) {
	lower, upper = e.ranks.buckets(d)
	if x, ok := e.Value(d); ok {
		lower, upper = min(lower, x), max(upper, x)
	}
	return lower, upper
}
