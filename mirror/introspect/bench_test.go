package introspect_test

import (
	"testing"

	"dpproxy/mirror/introspect"
)

// BenchmarkFingerprint is the cost that each protected read of three tables pays.
func BenchmarkFingerprint(b *testing.B) {
	conn := clinic(b, start(b))
	before := map[uint32]string{}
	for _, oid := range tableOIDs(b, conn)[:3] {
		before[oid] = ""
	}
	for b.Loop() {
		rows, err := conn.Query(b.Context(), introspect.FingerprintOf(before))
		if err != nil {
			b.Fatal(err)
		}
		rows.Close()
	}
}
