package planner

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestMovedShares holds that shares that are moved never are more than there were, and that none is 0, whatever the parts are.
func TestMovedShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.Int64Range(1000, 1000*oneShare).Draw(t, "shares of each set")
		parts := rapid.SliceOfN(rapid.Float64Range(0, 1), 2, 64).Draw(t, "parts")
		whole := 0.0
		for _, p := range parts {
			whole += p
		}
		for i := range parts {
			parts[i] /= max(whole, 1e-300)
		}
		total := weight * int64(len(parts))
		moved, sum := movedShares(parts, total), int64(0)
		for i, n := range moved {
			if sum += n; n < 1 {
				t.Fatalf("part %d has %d shares", i, n)
			}
			if far := math.Abs(float64(n)/float64(total) - parts[i]); whole > 0 && far > 0.07 {
				t.Fatalf("a part of %v has %d of %d shares", parts[i], n, total)
			}
		}
		if moved == nil || sum > total {
			t.Fatalf("%v are %d of %d shares", moved, sum, total)
		}
	})
}
