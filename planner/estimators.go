package planner

import (
	"sync"

	"dpproxy/estimate"
)

// estimators remembers estimators that follow from the shape and the noise of a tree alone, and
// take long: they are the same in all rows, and for all sessions that share the plan. They are
// filled once there are rows, when the noise is decided.
type estimators struct {
	extremes onceOf[estimatorOf, *estimate.Extreme]
	ranks    onceOf[estimatorOf, *estimate.RankError]
	totals   onceOf[estimatorOf, float64]
}

// estimatorOf has all that an estimator depends on.
type estimatorOf struct {
	statistic int
	limit     int  // level of the limit that its measure was cut to
	least     bool // of an extreme
	fraction  float64
	alpha     float64
}

// onceOf has a value for each key, computed for the first goroutine that asks while
// others wait. The zero value is empty.
type onceOf[K comparable, T any] struct{ all sync.Map }

func (o *onceOf[K, T]) get(of K, compute func() T) T {
	once, ok := o.all.Load(of)
	if !ok {
		once, _ = o.all.LoadOrStore(of, sync.OnceValue(compute))
	}
	return once.(func() T)()
}
