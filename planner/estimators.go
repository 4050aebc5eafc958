package planner

import "dpproxy/estimate"

// estimators remembers what is computed from the shape and the noise of a tree alone, and
// takes long: it is the same in all rows. It is filled once there are rows, when the noise
// is decided.
type estimators struct {
	extremes map[estimatorOf]*estimate.Extreme
	ranks    map[estimatorOf]*estimate.RankError
}

// estimatorOf is what an estimator depends on.
type estimatorOf struct {
	measure  int
	least    bool // of an extreme
	fraction float64
	alpha    float64
}

func newEstimators() estimators {
	return estimators{extremes: map[estimatorOf]*estimate.Extreme{}, ranks: map[estimatorOf]*estimate.RankError{}}
}

// extreme returns the estimator of MIN or MAX.
func (p *Part) extreme(o *output) *estimate.Extreme {
	of := estimatorOf{measure: o.measures[0], least: o.kind == minimum, alpha: p.alpha}
	e := p.estimators.extremes[of]
	if e == nil {
		t := p.tree(o)
		if of.least {
			e = must(t.Min(p.alpha))
		} else {
			e = must(t.Max(p.alpha))
		}
		p.estimators.extremes[of] = e
	}
	return e
}

// rankError returns the estimator of the interval of a percentile.
func (p *Part) rankError(o *output, fraction float64) *estimate.RankError {
	if o.descending {
		fraction = 1 - fraction
	}
	of := estimatorOf{measure: o.measures[0], fraction: fraction, alpha: p.alpha}
	r := p.estimators.ranks[of]
	if r == nil {
		r = must(p.tree(o).RankError(fraction, p.alpha))
		p.estimators.ranks[of] = r
	}
	return r
}
