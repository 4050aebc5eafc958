package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs with which Postgres says that sessions are in the way.
const (
	lockNotAvailable = "55P03"
	deadlockDetected = "40P01"
)

// busy reports whether sessions were in the way.
func busy(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == lockNotAvailable || refused.Code == deadlockDetected)
}

// inUse says in our words that sessions were in the way, and which have a transaction open.
func inUse(ctx context.Context, mirror *pgx.Conn, err error) error {
	rows, failed := mirror.Query(ctx, `SELECT format('%s (process %s, since %s)', usename, pid, `+
		`to_char(xact_start, 'YYYY-MM-DD HH24:MI:SS'))
		FROM pg_catalog.pg_stat_activity WHERE datname = pg_catalog.current_database() AND xact_start IS NOT NULL
			AND pid <> pg_catalog.pg_backend_pid() AND backend_type = 'client backend' ORDER BY xact_start LIMIT 5`)
	if failed != nil {
		return errors.Join(err, failed)
	}
	sessions, failed := pgx.CollectRows(rows, pgx.RowTo[string])
	if failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("a session on the mirror has a transaction open that uses what must change: try again when it has ended, "+
		"or end it with pg_terminate_backend. Transactions are open of %s (%w)",
		cmp.Or(strings.Join(sessions, ", "), "nobody any more"), err)
}
