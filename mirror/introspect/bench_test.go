package introspect_test

import (
	"testing"

	"dpproxy/mirror/introspect"
)

// BenchmarkFingerprint is the cost that each protected read of three tables pays.
func BenchmarkFingerprint(b *testing.B) {
	conn := clinic(b, start(b))
	oids := tableOIDs(b, conn)[:3]
	for b.Loop() {
		rows, err := conn.Query(b.Context(), introspect.FingerprintSQL, oids)
		if err != nil {
			b.Fatal(err)
		}
		rows.Close()
	}
}
