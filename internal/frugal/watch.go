package frugal

import (
	"context"
	"net"
	"runtime"
	"syscall"
	"time"
)

// userTimeout is TCP_USER_TIMEOUT of Linux alone, the milliseconds that bytes may stay without an acknowledgement.
const userTimeout = 18

// Probe has a connection of TCP end when the machine on the other side answers no probe in time: one that is gone, or cannot be
// reached any more, says no word. Other connections stay as they are.
func Probe(conn net.Conn, within time.Duration) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	third := within / 3
	return tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: third, Interval: third, Count: 2})
}

// Watch has it end also when bytes that were sent are not taken in time. It is for requests that are small: a client that is stopped in
// the middle of a long answer takes none, nor does a server that is busy, and is not gone.
func Watch(conn net.Conn, within time.Duration) error {
	tcp, ok := conn.(*net.TCPConn)
	if err := Probe(conn, within); err != nil || !ok || runtime.GOOS != "linux" {
		return err
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(within.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return refused
}

// Dial is a function that opens connections.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dialing has each connection that is opened be watched or probed.
func Dialing(dial Dial, within time.Duration, by func(net.Conn, time.Duration) error) Dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if err := by(conn, within); err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}
