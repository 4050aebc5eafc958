// Package await waits in tests for a condition that another goroutine or process brings about
// (tests only).
package await

import (
	"testing"
	"time"
)

// That fails the test unless a condition holds within a minute: far longer than anything
// takes that goes well, on a busy machine too.
func That(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Within(t, time.Minute, what, holds)
}

// Within fails the test unless a condition holds within a time.
func Within(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for !holds() {
		select {
		case <-timeout.C:
			t.Fatalf("after %v still not: %s", limit, what)
		case <-tick.C:
		}
	}
}
