package proxy

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "200ms": 200 * time.Millisecond, "5s": 5 * time.Second, "1min": time.Minute, "2h": 2 * time.Hour, "1d": 24 * time.Hour,
		"": 0, "x": 0, "-1": 0, "5 parsecs": 0,
	} {
		if got := duration([]byte(text)); got != want {
			t.Errorf("duration(%q) = %v, want %v", text, got, want)
		}
	}
}
