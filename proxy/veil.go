package proxy

import (
	"context"
	"time"

	"dpproxy/proxy/reader"
)

// A veil hangs before one statement, from the moment at which the protected database first
// hears of it to the point of the grid at which its reply leaves. Nothing changes meanwhile
// that an analyst can see, in any session, but for the charge, whose moment is a point of time
// too (docs/decisions/0013-the-clock-of-the-grid.md). A veil is used by one goroutine at a time: the session's up to the
// charge, and then the one that reads (attend.go).
type veil struct {
	grid   Grid
	fallen bool
	start  time.Time
	// behind has the acts that wait until the veil is lifted.
	behind []func()
	// paid says that the charge is on record, or that there is none to be.
	paid bool
	// ended says that the statement was stopped at a point, and does nothing more.
	ended bool
}

// fall starts the clock. All that an analyst can make take long lies before.
func (v *veil) fall() { v.fallen, v.start = true, v.grid.now() }

// then lets something that analysts can see happen when the veil is lifted.
func (v *veil) then(f func()) { v.behind = append(v.behind, f) }

// points are the ones at which the statement can leave now.
func (v *veil) points() Grid {
	if v.paid {
		return v.grid
	}
	return v.grid.charging()
}

// pause waits for the next point. All that follows begins there, whatever there was before.
func (v *veil) pause() { v.points().wait(v.start) }

// charge waits for the moment of a charge: the work before has looked at statistics of
// protected tables. It fails if the statement is canceled.
func (v *veil) charge(ctx context.Context) error {
	v.pause()
	if ctx.Err() == nil {
		return nil
	}
	return v.stopped(context.Canceled)
}

// stopped ends an uncharged statement at a point: it was waited for, or cut has ended at it. The cause is
// that of the end of cut.
func (v *veil) stopped(cause error) error {
	v.ended = true
	return stopped(cause, nil)
}

// lift waits for the next point, unless the statement was stopped at one, and lets the hidden
// acts happen, once.
func (v *veil) lift() {
	if v.fallen && !v.ended {
		v.pause()
	}
	v.fallen = false
	v.reveal()
}

// reveal lets the hidden acts happen, the rest also where one panics.
func (v *veil) reveal() {
	if len(v.behind) == 0 {
		return
	}
	defer v.reveal()
	f := v.behind[0]
	v.behind = v.behind[1:]
	f()
}

// cut returns a context for the work of the protected database behind the veil. It ends at the
// first point after ctx has ended, or at its deadline: an analyst who cancels could otherwise see, by the
// fate of the statement, whether it was over.
func (v *veil) cut(ctx context.Context, own, policy time.Duration) (context.Context, context.CancelFunc) {
	deadline, cause := v.deadline(own, policy)
	if v.grid.off() {
		if deadline <= 0 {
			return context.WithCancel(ctx)
		}
		return context.WithTimeoutCause(ctx, deadline, cause)
	}
	points, start := v.points(), v.start
	late, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		points.wait(start)
		end(context.Cause(ctx))
	})
	stopTimer := func() bool { return true }
	if deadline > 0 {
		stopTimer = points.After(deadline, func() { end(cause) })
	}
	return late, func() {
		stop()
		stopTimer()
		end(nil)
	}
}

// deadline returns how long it is to the point at which work is ended, and the reason: the session's own timeout, which
// runs since the veil fell, or the policy's limit, which runs from now on. 0 is none.
func (v *veil) deadline(own, policy time.Duration) (time.Duration, error) {
	points, elapsed := v.points(), time.Duration(0)
	if !points.off() && (own > 0 || policy > 0) {
		elapsed = points.Now().Sub(v.start)
	}
	ownEnd, policyEnd := points.limit(elapsed, own), points.limit(elapsed, elapsed+policy)
	if policy > 0 && (own <= 0 || policyEnd < ownEnd) {
		return policyEnd, &reader.LimitError{Limit: policy}
	}
	return ownEnd, reader.ErrTimeout
}
