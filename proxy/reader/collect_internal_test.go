package reader

import (
	"errors"
	"strconv"
	"testing"

	"dpproxy/fold"
	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// protect takes the rows of the reads of a grouping set.
func protect(set *planner.GroupingSet, reads [][][][]byte) (*Exact, error) {
	c := NewCollector(set, mechanisms.NewSource())
	for i, rows := range reads {
		for _, row := range rows {
			if err := c.parse(i, row); err != nil {
				return nil, err
			}
		}
	}
	return c.Exact()
}

// TestManyPrivatePartitions holds that nothing is kept of partitions that selection drops, however many they are.
func TestManyPrivatePartitions(t *testing.T) {
	set := setOf(t, "SELECT reason, count(*) FROM visits GROUP BY reason")
	c, shown, skipped := NewCollector(set, mechanisms.NewSource()), 0, 0
	for n := range 50_000 {
		key, weight := texts("reason "+strconv.Itoa(n)), "1"
		if n%10_000 == 0 {
			weight, shown = "1000000000000", shown+1
		}
		if err := c.Take(0, planner.Row{Keys: key, Measure: -1, Weights: []byte(weight)}); errors.Is(err, fold.ErrSkipped) {
			skipped++
		} else if err != nil {
			t.Fatal(err)
		}
		// Sums may come even of a group that is skipped.
		if err := c.Take(0, planner.Row{Keys: key, Levels: []int{2}, Cells: []planner.Cell{cell("7", "9")}}); err != nil {
			t.Fatal(err)
		}
	}
	if skipped+len(c.byKey) != 50_000 {
		t.Errorf("%d partitions are skipped, and %d held", skipped, len(c.byKey))
	}
	if n := len(c.byKey); n < shown || n > shown+5 { // each other partition is kept with a chance of one in a billion
		t.Errorf("%d partitions are held", n)
	}
	if exact, err := c.Exact(); err != nil || len(exact.partitions) != len(c.of.partitions) {
		t.Error(exact, err)
	}
}
