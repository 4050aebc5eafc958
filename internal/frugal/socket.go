package frugal

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// A socket reads and writes without telling Go's scheduler that a system call begins. The calls
// never wait, as the net package has made the socket non-blocking; but a call that might wakes the
// scheduler's monitor, which takes the processor away from calls that it finds under way. That
// costs more than the relay's own work on a message.
type socket struct {
	net.Conn
	raw     syscall.RawConn
	in, out transfer
}

// A transfer is one direction of a socket.
type transfer struct {
	mu    sync.Mutex
	bytes []byte // left to fill or to send
	done  int
	errno syscall.Errno
	try   func(fd uintptr) bool // reports whether the transfer is over
}

// Direct returns a connection of TCP or of a Unix socket as a socket, and any other as it is.
func Direct(conn net.Conn) net.Conn {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return conn
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return conn
	}
	s := &socket{Conn: conn, raw: raw}
	s.in.try, s.out.try = s.in.read, s.out.write
	return s
}

// SyscallConn implements syscall.Conn.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// CloseWrite says that nothing more comes.
func (s *socket) CloseWrite() error { return s.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := s.in.run(s.raw.Read, p)
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, s.told("read", err)
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := s.out.run(s.raw.Write, p)
	return n, s.told("write", err)
}

// told returns an error as the net package tells it, by which a broken connection is known.
func (s *socket) told(op string, err error) error {
	if err == nil {
		return nil // before the number of an error is made room for
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err // the runtime's, of a deadline or of a socket that was closed
	}
	local, remote := s.LocalAddr(), s.RemoteAddr()
	return &net.OpError{Op: op, Net: local.Network(), Source: local, Addr: remote, Err: os.NewSyscallError(op, errno)}
}

// run tries until the transfer is over; between tries the runtime waits for the socket.
func (t *transfer) run(wait func(func(uintptr) bool) error, p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes, t.done, t.errno = p, 0, 0
	err := wait(t.try)
	t.bytes = nil
	if err == nil && t.errno != 0 {
		err = t.errno
	}
	return t.done, err
}

// read takes what there is.
func (t *transfer) read(fd uintptr) bool { return t.call(syscall.SYS_READ, fd) }

// write sends all.
func (t *transfer) write(fd uintptr) bool {
	for t.call(syscall.SYS_WRITE, fd) {
		if t.errno != 0 || len(t.bytes) == 0 {
			return true
		}
	}
	return false
}

// call makes one system call. It reports false where the socket is not ready.
func (t *transfer) call(trap, fd uintptr) bool {
	for {
		n, errno := call(trap, fd, t.bytes)
		switch {
		case errno == 0:
			t.bytes, t.done = t.bytes[n:], t.done+n
			return true
		case errno == syscall.EAGAIN:
			return false
		case errno != syscall.EINTR:
			t.errno = errno
			return true
		}
	}
}
