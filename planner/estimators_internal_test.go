package planner

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestOnceEach(t *testing.T) {
	var values onceOf[estimatorOf, int64]
	var computed atomic.Int64
	var done sync.WaitGroup
	arrived := make(chan struct{}, 8)
	for range cap(arrived) {
		done.Go(func() {
			arrived <- struct{}{}
			got := values.get(estimatorOf{alpha: 0.05}, func() int64 {
				for len(arrived) < cap(arrived) { // the others ask meanwhile
				}
				return computed.Add(1)
			})
			if got != 1 {
				t.Errorf("got the value of computation %d", got)
			}
		})
	}
	done.Wait()
	if other := values.get(estimatorOf{alpha: 0.01}, func() int64 { return computed.Add(1) }); other != 2 {
		t.Errorf("another estimator has the value of computation %d", other)
	}
}
