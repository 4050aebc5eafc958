package pgtemp

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Blocks waits until a session waits for a lock of the one with a process ID, and reports true, or until done is closed.
func Blocks(ctx context.Context, watch *pgx.Conn, pid uint32, done <-chan struct{}) (bool, error) {
	return seen(ctx, watch, "$1::int = ANY (pg_catalog.pg_blocking_pids(pid))", pid, done)
}

// Waits waits until the session with a process ID waits for a lock, and reports true, or until done is closed.
func Waits(ctx context.Context, watch *pgx.Conn, pid uint32, done <-chan struct{}) (bool, error) {
	return seen(ctx, watch, "pid = $1::int", pid, done)
}

// seen waits for a session of which a condition is true, and which waits for a lock.
func seen(ctx context.Context, watch *pgx.Conn, which string, pid uint32, done <-chan struct{}) (found bool, err error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		err := watch.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE wait_event_type = 'Lock' AND "+which+")",
			pid).Scan(&found)
		if found || err != nil {
			return found, err
		}
		select {
		case <-done:
			return false, nil
		case <-tick.C:
		}
	}
}
