package wire

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"
)

const (
	catchUpPause = 200 * time.Microsecond
	catchUpTries = 100 // of pauses: 20 ms
)

// catchUp waits until the session has passed on what its client sent before a cancel
// request, which comes on a connection of its own and can be the faster one. A Run in
// progress needs no wait. A client that waits for the end of its cancel request, as
// libpq does, has sent nothing behind it that could be meant.
func (s *Session) catchUp() {
	quiet := 0
	for range catchUpTries {
		if quiet == 2 || s.running.active() {
			return
		}
		if s.waiting.Load() && !arrived(s.client.conn) {
			quiet++ // twice, since the bytes may be on their way from the one to the other
		} else {
			quiet = 0
		}
		<-time.After(catchUpPause) //nolint:forbidigo // a pause for another goroutine's read, which tells nobody
	}
}

// arrived reports whether the kernel holds bytes of the client that nobody has read.
func arrived(conn net.Conn) bool {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if u, ok := conn.(*unread); ok {
		conn = u.Conn
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
