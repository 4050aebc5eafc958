package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// quiet reports whether a connection is open and nothing has come on it. An idle session
// of Postgres is so until it ends: then there is an end, an error or a last message.
func quiet(conn net.Conn) bool {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	err = raw.Control(func(fd uintptr) { // not Read, which waits for another reader
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && nothing
}
