package serve

import (
	"fmt"
	"syscall"
)

// forbidDumps keeps the memory of the process, which holds rows of people while they are read, from leaving it: a crash leaves no core
// file, and no other process of the same user can read the memory.
func forbidDumps() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("forbidding core dumps: %w", err)
	}
	const setDumpable = 4 // PR_SET_DUMPABLE
	if _, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); failed != 0 {
		return fmt.Errorf("forbidding others to look into the memory: %w", failed)
	}
	return nil
}
