package planner

import (
	"reflect"
	"sync"

	"dpproxy/contribution"
	"dpproxy/estimate"
)

// estimators caches estimators that depend on the shape and the noise of a tree alone, and take long to compute. All rows, and all sessions
// that share the plan, use the same. They are computed for the first row, when the noise is decided.
type estimators struct {
	extremes onceOf[estimatorOf, *estimate.Extreme]
	ranks    onceOf[estimatorOf, *estimate.RankError]
	totals   onceOf[estimatorOf, float64]
	averages onceOf[noisesOf, estimate.Average]
	halves   onceOf[noisesOf, float64]
	running  onceOf[int, *runningNoise] // the only key is 0
}

// noisesOf is all that an estimator depends on of one or two statistics, with the noise of their mechanisms.
type noisesOf struct {
	statistics [2]int
	of         [2]contribution.Noise
	vector     int // that was chosen with the limit
	alpha      float64
}

// noises returns the key of an estimator of two statistics in a row; ok is false if their noise is the row's own.
func (r observation) noises(first, second int) (of noisesOf, ok bool) {
	of.statistics, of.alpha = [2]int{first, second}, r.alpha
	for i, statistic := range of.statistics {
		if of.of[i], ok = r.noise(statistic).(contribution.Noise); !ok || !reflect.TypeOf(of.of[i].Of).Comparable() {
			return of, false
		}
	}
	if m := r.statistics[first].measure; m != nil && r.clips != nil {
		of.vector = r.clips[m.at].Vector
	}
	return of, r.cache != nil
}

// half is how far a statistic may be off.
func (r observation) half(statistic int) float64 {
	compute := func() float64 { return r.noise(statistic).Quantile(r.alpha) }
	if of, ok := r.noises(statistic, statistic); ok {
		return r.cache.halves.get(of, compute)
	}
	return compute()
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
