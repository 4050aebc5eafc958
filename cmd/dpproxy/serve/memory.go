package serve

import (
	"github.com/KimMachineGun/automemlimit/memlimit"

	"dpproxy/config"
)

const (
	// machinePart is the part of a machine's memory that rows of people may take, unless the policy says how much.
	machinePart = 4
	// leastFoldMemory is what they may take where nobody says how much memory there is, and on the smallest machines.
	leastFoldMemory = 256 << 20
)

// foldMemory returns how many bytes rows of people may take, of all reads together: as the policy says, or a quarter of the memory of
// the container or the machine.
func foldMemory(l *config.Limits) int {
	if l.FoldMemory > 0 {
		return l.FoldMemory << 20
	}
	return partOf(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem))
}

// partOf returns the part of a memory that rows may take.
func partOf(memory memlimit.Provider) int {
	n, err := memory()
	if err != nil {
		return leastFoldMemory
	}
	return max(leastFoldMemory, int(n/machinePart))
}
