package proxy

import (
	"errors"
	"slices"
	"testing"
	"time"

	"dpproxy/proxy/reader"
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

// TestDeadlines holds that the policy's limit ends a read at a point of the grid, as the session's own timeout does, and
// that the earlier of both points counts: of two alike the session's.
func TestDeadlines(t *testing.T) {
	start := time.Unix(0, 0)
	for _, c := range []struct {
		quantum, elapsed, own, policy, want time.Duration
		limited                             bool
	}{
		{0, 0, 0, 0, 0, false},
		{0, 5, 7, 0, 7, false},
		{0, 5, 0, 7, 7, true},
		{0, 5, 8, 7, 7, true},
		{0, 5, 7, 7, 7, false},
		{10, 3, 0, 7, 7, true},
		{10, 3, 0, 8, 12, true},   // at 15
		{10, 3, 11, 8, 12, false}, // both at 15
		{10, 3, 10, 100, 7, false},
		{10, 3, 1000, 20, 26, true}, // at 29, and not at 20
		{10, 10, 7, 1, 5, false},
		{10, 3, 11, 0, 12, false},
	} {
		v := &veil{
			grid: Grid{Quantum: c.quantum, Now: func() time.Time { return start.Add(c.elapsed) }}, start: start, paid: true,
		}
		got, by := v.deadline(c.own, c.policy)
		limit, limited := errors.AsType[*reader.LimitError](by)
		if got != c.want || limited != c.limited || limited && limit.Limit != c.policy {
			t.Errorf("%+v: ended after %d by %v", c, got, by)
		}
	}
}
