package site

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// noPooler is the remedy if a pooler stands between dpproxy and one of its databases. Sessions there have settings by which
// reads are safe, statements that they have prepared, and roles that they take: a pooler loses them, or gives them to others.
const noPooler = "a pooler between, such as pgbouncer, loses the settings of sessions: the policy must name the server itself"

// Unpooled adds to the error of a connection that a pooler stands between.
func Unpooled(err error) error {
	const protocolViolation = "08P01"
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refused.Code != protocolViolation || !strings.Contains(refused.Message, "startup parameter") {
		return err
	}
	return fmt.Errorf("%w: %s", err, noPooler)
}

// checkSettings refuses a session of the mirror's superuser that has not the search_path that it was begun with.
func checkSettings(ctx context.Context, conn *pgx.Conn) error {
	var path string
	if err := conn.QueryRow(ctx, "SELECT pg_catalog.current_setting('search_path')").Scan(&path); err != nil || path == "" {
		return err
	}
	return fmt.Errorf("the mirror's sessions are not as they were asked for: %s", noPooler)
}
