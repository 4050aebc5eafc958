package proxy

import (
	"math"
	"time"
)

// A Grid is the points of time at which replies may leave that depend on a read of
// protected data, or on that there was none since the answer is remembered: q·2^(k/2)
// after the statement's veil fell, for k = 0, 1, 2... How long the read took is then known
// up to a factor of √2, and not at all below q.
type Grid struct {
	// Quantum is q; 0 lets replies leave at once.
	Quantum time.Duration
	// Now is the clock, Wait waits for so long on it, and After calls f after so long unless
	// it is stopped. They are needed unless the quantum is 0.
	Now   func() time.Time
	Wait  func(d time.Duration)
	After func(d time.Duration, f func()) (stop func() bool)
}

func (g Grid) off() bool { return g.Quantum <= 0 }

// finer is how often the quantum of the points before the charge goes into q.
const finer = 8

// charging returns the points at which a charge is made, or a statement leaves that fails before
// it. A short statement then still has most of q for its read.
func (g Grid) charging() Grid {
	g.Quantum = (g.Quantum + finer - 1) / finer
	return g
}

// now is the time, zero without a grid.
func (g Grid) now() time.Time {
	if g.off() {
		return time.Time{}
	}
	return g.Now()
}

// wait waits for the next point.
func (g Grid) wait(start time.Time) {
	if !g.off() {
		elapsed := g.Now().Sub(start)
		g.Wait(g.next(elapsed) - elapsed)
	}
}

// next returns the first point that is not before a time after the start.
func (g Grid) next(elapsed time.Duration) time.Duration {
	for point := g.Quantum; ; point *= 2 {
		half := time.Duration(math.Ceil(float64(point) * math.Sqrt2))
		switch {
		case elapsed <= point:
			return point
		case elapsed <= half:
			return half
		}
	}
}

// limit moves a timeout (0 is none) to a point of the grid, and returns the rest of it. An analyst could otherwise
// ask with timeouts, and see by which of them the read was over.
func (g Grid) limit(elapsed, timeout time.Duration) time.Duration {
	if g.off() || timeout <= 0 {
		return timeout
	}
	return g.next(max(timeout, elapsed+1)) - elapsed
}
