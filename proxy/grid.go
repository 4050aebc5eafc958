package proxy

import (
	"context"
	"math"
	"time"

	"dpproxy/pgerr"
)

// A Grid is the points of time at which replies may leave that depend on a read of
// protected data, or on that there was none since the answer is remembered: q·2^(k/2)
// after the statement arrived, for k = 0, 1, 2... How long the read took is then known
// up to a factor of √2, and not at all below q.
type Grid struct {
	// Quantum is q; 0 lets replies leave at once.
	Quantum time.Duration
	// Now is the clock, and Wait waits for so long on it. They are needed unless the
	// quantum is 0.
	Now  func() time.Time
	Wait func(d time.Duration)
}

func (g Grid) off() bool { return g.Quantum <= 0 }

// arrival is when a statement arrived.
func (g Grid) arrival() time.Time {
	if g.off() {
		return time.Time{}
	}
	return g.Now()
}

// next returns the first point that is not before a time after the arrival.
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

// limit moves the session's own timeout (0 is none) to a point of the grid, and returns
// what is left of it. An analyst could otherwise ask with timeouts, and see by which of
// them the read was over.
func (g Grid) limit(arrived time.Time, timeout time.Duration) time.Duration {
	if g.off() || timeout <= 0 {
		return timeout
	}
	elapsed := g.Now().Sub(arrived)
	return g.next(max(timeout, elapsed+1)) - elapsed
}

// leave holds a reply back until the next point of the grid, and returns its error. A
// reply that fails without a charge leaves at once: nothing was read for it.
//
// A cancel request does not shorten that, and is then the reply: else it would tell
// whether the read was over when it came. The answer is paid for, and remembered.
func (a *answer) leave(ctx context.Context, arrived time.Time, r *receipt, err error) error {
	g := a.p.cfg.Grid
	if g.off() || err != nil && r == nil {
		return err
	}
	elapsed := g.Now().Sub(arrived)
	g.Wait(g.next(elapsed) - elapsed)
	if err == nil && ctx.Err() != nil {
		return canceled(r)
	}
	return err
}

// canceled tells a client that his own cancel request ended a statement that was, or
// was not, charged.
func canceled(r *receipt) error {
	err := pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	if r == nil {
		return err
	}
	return err.WithDetail(chargeStays)
}
