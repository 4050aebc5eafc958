package proxy

import (
	"math"
	"testing"
	"time"
)

func TestGridPoints(t *testing.T) {
	g := Grid{Quantum: 20 * time.Millisecond}
	last := time.Duration(0)
	for k := range 20 {
		point := g.next(last + 1)
		want := 20 * math.Pow(2, float64(k)/2)
		if got := float64(point) / 1e6; got < want-1e-6 || got > want+1e-5 {
			t.Errorf("point %d is %v ms, want %v", k, got, want)
		}
		if again := g.next(point); again != point {
			t.Errorf("the next point from %v on is %v", point, again)
		}
		last = point
	}
	for _, elapsed := range []time.Duration{-1, 0, 1, 20 * time.Millisecond} {
		if got := g.next(elapsed); got != 20*time.Millisecond {
			t.Errorf("after %v the next point is %v", elapsed, got)
		}
	}
}

// TestGridLimit holds that a session's own timeout ends a read at a point of the grid,
// however much of it has passed.
func TestGridLimit(t *testing.T) {
	for _, c := range []struct{ quantum, elapsed, timeout, want time.Duration }{
		{0, 5, 7, 7},
		{10, 0, 0, 0},
		{10, 0, 7, 10},
		{10, 3, 7, 7},
		{10, 3, 10, 7},
		{10, 3, 11, 12}, // 15
		{10, 10, 7, 5},  // the point at 10 is over
		{10, 15, 15, 5},
	} {
		g := Grid{Quantum: c.quantum}
		if got := g.limit(c.elapsed, c.timeout); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
