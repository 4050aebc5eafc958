package mirror

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/introspect"
)

// Oldest is the first version of Postgres that can be a mirror: the first whose views can be
// security_invoker. The newest is [introspect.Newest].
const Oldest = 15

// CheckServer refuses a mirror of a version that is not served; [Plan.Read] and [Check] refuse
// such a protected database.
func CheckServer(ctx context.Context, mirror *pgx.Conn) error {
	var version int
	err := mirror.QueryRow(ctx, "SELECT pg_catalog.current_setting('server_version_num')::int").Scan(&version)
	if err == nil {
		err = checkMirror(version)
	}
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// checkMirror takes a server_version_num.
func checkMirror(version int) error { return introspect.CheckVersion("mirror", version, Oldest) }
