package planner

// A rowed is an estimator of a value that a group without rows does not have, such as an average.
// Computed from noise alone it could be anything, and be the largest of all groups.
type rowed interface {
	// rows returns the ends of an interval that holds the number of the group's rows with the
	// confidence of the release, and the fewest rows that have such a value.
	rows(r observation) (low, high, fewest float64)
}

// small reports whether a group shows so few rows that an output may have no value: whether an
// interval of their number reaches below the fewest that have one. Of so many groups that are shown
// beside each other none is to pass by chance, so that each interval fails with a part of alpha. A
// noise reduction has chosen its intervals before it measured.
func (r *results) small(o *output, row integers, groups int) bool {
	of, ok := o.estimator.(rowed)
	if !ok {
		return false
	}
	seen := r.observed(row)
	seen.alpha = max(r.alpha/float64(max(groups, 1)), leastAlpha)
	low, _, fewest := of.rows(seen)
	return low < fewest
}

// leastAlpha is the smallest probability with which an interval is asked to fail.
const leastAlpha = 1e-12

// hides reports whether an output of a group is NULL since the group is small.
func (r *results) hides(o *output, row integers, groups int) bool {
	return !r.showSmall && r.small(o, row, groups)
}

// Confidence is that of the statements about limits and errors.
func (r *results) Confidence() float64 { return 1 - r.alpha }

// unanswered reports whether an output is NULL since the limit of the count or sum that it is leaves out too much.
func (r *results) unanswered(o *output, clips []Clip) bool {
	if clips == nil {
		return false
	}
	_, linear := o.linear()
	m := r.statistics[o.statistics()[0]].measure
	return m != nil && (linear || m.weighting.refuses()) && r.Loses(m, clips[m.at], r.Confidence())
}

// empty reports whether a group surely has too few rows for an output: no further measurement
// makes a value of them.
func (o *output) empty(r observation) bool {
	of, ok := o.estimator.(rowed)
	if !ok {
		return false
	}
	_, high, fewest := of.rows(r)
	return high < fewest
}
