package reader

import (
	"context"
	"net"
	"reflect"
	"runtime"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/frugal"
)

// keepAlive finds a machine that is gone without a word: it is noticed before the limit of a read, behind which the read would
// count as one that failed.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 2}

// userTimeout is TCP_USER_TIMEOUT of Linux alone, the milliseconds that bytes may stay without an acknowledgement.
const userTimeout = 18

// dialing lets the connections that are dialed disturb the scheduler little, and notice that the other machine is gone.
func dialing(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			if err := watchful(tcp); err != nil {
				conn.Close()
				return nil, err
			}
		}
		return frugal.Direct(conn), nil
	}
}

// watchful has a connection end when nothing of the other side comes in time, whether something was sent or not.
func watchful(conn *net.TCPConn) error {
	if err := conn.SetKeepAliveConfig(keepAlive); err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	limit := keepAlive.Idle + time.Duration(keepAlive.Count)*keepAlive.Interval
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(limit.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return refused
}

// ofRole returns the check of a session's server that target_session_attrs asks for. Sessions of a [Data] write nothing, so
// that by whether they can write no server is told from another: it is told by its role.
func ofRole(check pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	is := func(other pgconn.ValidateConnectFunc) bool {
		return reflect.ValueOf(check).Pointer() == reflect.ValueOf(other).Pointer()
	}
	switch {
	case check == nil:
	case is(pgconn.ValidateConnectTargetSessionAttrsReadWrite):
		return pgconn.ValidateConnectTargetSessionAttrsPrimary
	case is(pgconn.ValidateConnectTargetSessionAttrsReadOnly):
		return pgconn.ValidateConnectTargetSessionAttrsStandby
	}
	return check
}
