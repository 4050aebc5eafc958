package proxy

import (
	"slices"
	"testing"
	"time"
)

// TestVeilLiftsWhole holds that all that was hidden happens once and in order, whatever of it panics.
func TestVeilLiftsWhole(t *testing.T) {
	now := time.Unix(0, 0)
	v := &veil{grid: Grid{Quantum: 20, Now: func() time.Time { return now }, Wait: func(d time.Duration) { now = now.Add(d) }}, paid: true}
	v.fall()
	var happened []int
	for i := range 5 {
		v.then(func() {
			happened = append(happened, i)
			if i%2 == 1 {
				panic(i)
			}
		})
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		defer v.lift()
		v.lift()
	}()
	if !slices.Equal(happened, []int{0, 1, 2, 3, 4}) {
		t.Errorf("%v happened", happened)
	}
	if took := now.Sub(time.Unix(0, 0)); took != 20 {
		t.Errorf("the veil was lifted after %v", took)
	}
}
