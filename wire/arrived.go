package wire

import (
	"net"
	"syscall"
)

// arrived reports whether the kernel holds bytes of the client that nobody has read.
func arrived(conn net.Conn) bool {
	for {
		around, ok := conn.(interface{ NetConn() net.Conn }) // TLS, and the first byte of it
		if !ok {
			break
		}
		conn = around.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		n, _, _ = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}
