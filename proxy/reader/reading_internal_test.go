package reader

import (
	"slices"
	"testing"

	"dpproxy/planner"
)

// TestSettingsOfReads holds that hash aggregation is off for the reads that an index gives
// an order, and for no other of the transaction.
func TestSettingsOfReads(t *testing.T) {
	before, after := SettingsOf(&planner.Read{Ordered: true})
	if !slices.Equal(before, []string{"SET LOCAL enable_hashagg = off"}) ||
		!slices.Equal(after, []string{"SET LOCAL enable_hashagg TO DEFAULT"}) {
		t.Errorf("around a read in the order of an index: %q, %q", before, after)
	}
	if before, after := SettingsOf(&planner.Read{}); before != nil || after != nil {
		t.Errorf("around another read: %q, %q", before, after)
	}
}
