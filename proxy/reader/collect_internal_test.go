package reader

import (
	"strconv"
	"testing"

	"dpproxy/planner"
)

// protect takes the rows of the reads of a grouping set.
func protect(set *planner.GroupingSet, reads [][][][]byte) (*Exact, error) {
	c := NewCollector(set)
	for i, rows := range reads {
		for _, row := range rows {
			if err := c.parse(i, row); err != nil {
				return nil, err
			}
		}
	}
	return c.Exact()
}

// BenchmarkPrivateKeys takes the rows of a hundred thousand private partitions, each with units of
// six levels.
func BenchmarkPrivateKeys(b *testing.B) {
	set := setOf(b, "SELECT reason, count(*) FROM visits GROUP BY reason")
	var rows [][][]byte
	for key := range 100_000 {
		for level := range 6 {
			rows = append(rows, texts("reason "+strconv.Itoa(key), strconv.Itoa(level), "5242880", "3", "11", "7340032"))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := protect(set, [][][][]byte{rows}); err != nil {
			b.Fatal(err)
		}
	}
}
