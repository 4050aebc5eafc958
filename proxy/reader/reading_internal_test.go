package reader

import (
	"slices"
	"testing"

	"dpproxy/planner"
	"dpproxy/planner/sqltext"
)

// TestSettingsOfReads holds that hash aggregation is off for reads to which an index gives an order, that joins keep their order in reads
// that depend on it, and that nothing changes for other reads of the transaction.
func TestSettingsOfReads(t *testing.T) {
	before, after := SettingsOf(&planner.Read{Ordered: true})
	if !slices.Equal(before, []string{"SET LOCAL enable_hashagg = off"}) ||
		!slices.Equal(after, []string{"SET LOCAL enable_hashagg TO DEFAULT"}) {
		t.Errorf("around a read in the order of an index: %q, %q", before, after)
	}
	chained := &planner.Read{Joins: sqltext.Joins{Ordered: true, Scanned: true}}
	before, after = SettingsOf(chained)
	if !slices.Equal(before, []string{"SET LOCAL join_collapse_limit = 1", "SET LOCAL enable_nestloop = off"}) || len(after) != 2 {
		t.Errorf("around a read of joins in their order: %q, %q", before, after)
	}
	if before, after := SettingsOf(&planner.Read{}); before != nil || after != nil {
		t.Errorf("around another read: %q, %q", before, after)
	}
}
