package frugal

import (
	"sync"
	"time"
)

// An Alarm calls a function when a time is over, unless it is cleared before. It is meant to be set
// and cleared for each statement, and to ring for few: its timer is left to run when it
// is cleared and when it is set for later. A timer of its own each time would wake the
// thread that waits for the network, to have it wait for less.
type Alarm struct {
	ring func()

	mu    sync.Mutex
	timer *time.Timer
	due   time.Time // the timer's; zero while it does not run
	at    time.Time // zero while the alarm is not set
}

// NewAlarm makes an alarm that is not set. Ring must be quick: it holds up who sets or clears the alarm.
func NewAlarm(ring func()) *Alarm { return &Alarm{ring: ring} }

// Set lets the alarm ring after a time, and not at the time that it was set for before.
func (a *Alarm) Set(after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = now().Add(after)
	if a.due.IsZero() || a.due.After(a.at) {
		a.run(after)
	}
}

// Clear keeps the alarm from ringing. When it returns, ring is not being called.
func (a *Alarm) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = time.Time{}
}

// Stop clears the alarm and ends its timer.
func (a *Alarm) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at, a.due = time.Time{}, time.Time{}
	if a.timer != nil {
		a.timer.Stop()
	}
}

// run starts the timer. It is called with a.mu held.
func (a *Alarm) run(after time.Duration) {
	a.due = a.at
	if a.timer == nil {
		a.timer = time.AfterFunc(after, a.expire)
	} else {
		a.timer.Reset(after)
	}
}

// expire follows the end of the timer, which may have been started anew meanwhile.
func (a *Alarm) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	present := now()
	switch {
	case a.due.IsZero() || a.due.After(present):
	case a.at.IsZero():
		a.due = time.Time{}
	case a.at.After(present):
		a.run(a.at.Sub(present))
	default:
		a.at, a.due = time.Time{}, time.Time{}
		a.ring()
	}
}

// now is the time by which a timer runs.
func now() time.Time {
	return time.Now() //nolint:forbidigo // how long a timer still has to run, which nobody is told
}
