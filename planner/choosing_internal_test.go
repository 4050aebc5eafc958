package planner

import "testing"

// TestMostModes holds that the values of a mode are so few in each group that those of all groups are bounded.
func TestMostModes(t *testing.T) {
	for groups, want := range map[int]int{0: 256, 1: 10_000, 26: 10_000, 100: 2621, maxGroups: 26} {
		if got := mostModes(groups); got != want {
			t.Errorf("%d groups: %d values, want %d", groups, got, want)
		}
	}
}
