//go:build race

package frugal

import (
	"errors"
	"syscall"
)

// call makes one system call by the functions that tell the race detector that whoever reads comes after whoever wrote. Without them
// all that a test looks at once it has a reply counts as a race.
func call(trap, fd uintptr, p []byte) (int, syscall.Errno) {
	transfer := syscall.Write
	if trap == syscall.SYS_READ {
		transfer = syscall.Read
	}
	n, err := transfer(int(fd), p)
	errno, _ := errors.AsType[syscall.Errno](err)
	return n, errno
}
