package serve

import (
	"github.com/KimMachineGun/automemlimit/memlimit"

	"dpproxy/config"
)

const (
	// 1/machinePart of a machine's memory is for rows of people, unless the policy sets an amount.
	machinePart = 4
	// leastFoldMemory, 256 MiB, is the memory for rows if the size of the machine's memory is unknown, and the minimum on small machines.
	leastFoldMemory = 256 << 20
)

// foldMemory returns the memory in bytes that the rows of all reads together may take: the value of the policy, or a quarter of the memory
// of the container or the machine.
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
