package planner

import "slices"

// A rowed is an estimator of a value that a group without rows does not have, such as an average. Computed from noise alone it could be
// anything, and easily the largest value of all groups.
type rowed interface {
	// rows returns the ends of an interval that contains the number of rows of the group, with the confidence of the observation, and the
	// fewest rows that have a value.
	rows(r observation) (low, high, fewest float64)
}

// small reports whether a group may have too few rows for an output: whether an interval of its number of rows reaches below the fewest
// that have a value. All groups that are shown together pass by chance with probability alpha at most, so each interval fails with alpha
// divided by their number. Noise reduction chose its intervals before it measured.
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

// leastAlpha is the smallest error probability for which an interval is computed.
const leastAlpha = 1e-12

// hides reports whether an output of a group is not shown, because the group is withheld, or is small. A replica hides
// exactly the same values as the answer.
func (r *results) hides(o *output, row integers, groups int) bool {
	if row.answer != nil {
		row = *row.answer
	}
	return row.withheld || !r.showSmall && r.small(o, row, groups)
}

// Confidence is the confidence of statements about limits and errors.
func (r *results) Confidence() float64 { return 1 - r.alpha }

// unanswered reports whether an output is NULL because the limit of its measure leaves out too much.
func (r *results) unanswered(o *output, clips []Clip) bool {
	if clips == nil {
		return false
	}
	_, linear := o.linear()
	m := r.statistics[o.statistics()[0]].measure
	return m != nil && (linear || m.weighting.refuses()) && r.Loses(m, clips[m.at], r.Confidence())
}

// empty reports whether a group surely has too few rows for an output, so that further measurements do not help.
func (o *output) empty(r observation) bool {
	of, ok := o.estimator.(rowed)
	if !ok {
		return false
	}
	_, high, fewest := of.rows(r)
	return high < fewest
}

// withholds reports whether the released count of a group withholds it.
func (r *results) withholds(row integers) bool {
	return r.judge != nil && r.judge.withholds(r.observed(row))
}

// withholdsAll reports whether the released counts withhold every group, or there is none to judge: then nothing is told of their people.
func (r *results) withholdsAll(of *Released) bool {
	return r.judge != nil && !slices.ContainsFunc(of.integers(), func(row integers) bool { return !r.withholds(row) })
}

// judgesBy reports whether a measure is of the count by which groups are judged, which no aggregate needs.
func (r *results) judgesBy(m *Measure) bool {
	return r.judge != nil && r.judge.added && r.statistics[r.judge.statistic].measure == m
}
