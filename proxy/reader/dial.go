package reader

import (
	"context"
	"net"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/frugal"
)

// Gone is how long a machine may be silent before its sessions end. It is less than the limit of a read: after the limit, the read would
// count as failed.
const Gone = 15 * time.Second

// dialing makes dialed connections disturb the scheduler little, and notice that the other machine is gone.
func dialing(dial pgconn.DialFunc) pgconn.DialFunc {
	dial = frugal.Dialing(dial, Gone, frugal.Watch)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return frugal.Direct(conn), nil
	}
}

// ofRole returns the check of a session's server that target_session_attrs asks for. Sessions of a [Data] write nothing, so they cannot
// distinguish servers by whether they can write. They distinguish servers by their roles.
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
