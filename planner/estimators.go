package planner

import (
	"sync"

	"dpproxy/estimate"
)

// estimators remembers what is computed from the shape and the noise of a tree alone, and
// takes long: it is the same in all rows, and for all sessions that share the plan. It is
// filled once there are rows, when the noise is decided.
type estimators struct {
	extremes onceEach[*estimate.Extreme]
	ranks    onceEach[*estimate.RankError]
}

// estimatorOf is what an estimator depends on.
type estimatorOf struct {
	measure  int
	least    bool // of an extreme
	fraction float64
	alpha    float64
}

// onceEach has a value for each estimator, computed for the first goroutine that asks while
// others wait. The zero value is empty.
type onceEach[T any] struct{ all sync.Map }

func (o *onceEach[T]) get(of estimatorOf, compute func() T) T {
	once, ok := o.all.Load(of)
	if !ok {
		once, _ = o.all.LoadOrStore(of, sync.OnceValue(compute))
	}
	return once.(func() T)()
}

// extreme returns the estimator of MIN or MAX.
func (p *Part) extreme(o *output) *estimate.Extreme {
	of := estimatorOf{measure: o.measures[0], least: o.kind == minimum, alpha: p.alpha}
	return p.estimators.extremes.get(of, func() *estimate.Extreme {
		if of.least {
			return must(p.tree(o).Min(p.alpha))
		}
		return must(p.tree(o).Max(p.alpha))
	})
}

// rankError returns the estimator of the interval of a percentile.
func (p *Part) rankError(o *output, fraction float64) *estimate.RankError {
	if o.descending {
		fraction = 1 - fraction
	}
	of := estimatorOf{measure: o.measures[0], fraction: fraction, alpha: p.alpha}
	return p.estimators.ranks.get(of, func() *estimate.RankError { return must(p.tree(o).RankError(fraction, p.alpha)) })
}
