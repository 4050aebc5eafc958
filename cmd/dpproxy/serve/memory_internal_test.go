package serve

import (
	"errors"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"dpproxy/config"
)

// TestFoldMemory holds that the policy's memory is taken as it is, and else a quarter of what there is.
func TestFoldMemory(t *testing.T) {
	if n := foldMemory(&config.Limits{FoldMemory: 3}); n != 3<<20 {
		t.Errorf("of 3 MB: %d", n)
	}
	if n := foldMemory(&config.Limits{}); n < leastFoldMemory {
		t.Errorf("of this machine: %d", n)
	}
	for n, want := range map[uint64]int{64 << 30: 16 << 30, 1 << 20: leastFoldMemory} {
		if got := partOf(memlimit.Limit(n)); got != want {
			t.Errorf("of %d bytes: %d, want %d", n, got, want)
		}
	}
	if n := partOf(func() (uint64, error) { return 0, errors.New("unknown") }); n != leastFoldMemory {
		t.Errorf("of an unknown machine: %d", n)
	}
}
