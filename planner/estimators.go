package planner

import (
	"sync"

	"dpproxy/estimate"
)

// estimators caches estimators that depend on the shape and the noise of a tree alone, and take long to compute. All rows, and all sessions
// that share the plan, use the same. They are computed for the first row, when the noise is decided.
type estimators struct {
	extremes onceOf[estimatorOf, *estimate.Extreme]
	ranks    onceOf[estimatorOf, *estimate.RankError]
	totals   onceOf[estimatorOf, float64]
}

// estimatorOf is all that an estimator depends on.
type estimatorOf struct {
	statistic int
	limit     int  // level of the limit to which its measure was cut
	least     bool // MIN, not MAX
	fraction  float64
	alpha     float64
}

// onceOf has a value for each key. The first goroutine that asks computes it, and others wait. The zero value is empty.
type onceOf[K comparable, T any] struct{ all sync.Map }

func (o *onceOf[K, T]) get(of K, compute func() T) T {
	once, ok := o.all.Load(of)
	if !ok {
		once, _ = o.all.LoadOrStore(of, sync.OnceValue(compute))
	}
	return once.(func() T)()
}
