package setup

import (
	"crypto/x509"
	"testing"
	"time"
)

// TestHolds holds that check warns of a certificate that does not hold, or not for long.
func TestHolds(t *testing.T) {
	leaf := &x509.Certificate{
		NotBefore: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	for now, want := range map[string]string{
		"2024-12-31": "tls.cert does not hold before 2025-01-01 00:00:00",
		"2025-01-02": "",
		"2025-12-01": "",
		"2025-12-20": "tls.cert holds until 2025-12-31 00:00:00 only",
		"2026-01-01": "tls.cert has not held since 2025-12-31 00:00:00",
	} {
		at, err := time.Parse(time.DateOnly, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := holds(leaf, at); got != want {
			t.Errorf("%s: %s", now, got)
		}
	}
}
