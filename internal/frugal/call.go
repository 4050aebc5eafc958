//go:build !race

package frugal

import (
	"syscall"
	"unsafe"
)

// call makes one system call, of which the scheduler is not told.
func call(trap, fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return int(n), errno
}
