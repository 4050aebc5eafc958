package mirror

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The versions of Postgres that are served, by their first numbers: what the tests run on.
// Another may have what no proof here knows of.
const (
	OldestData   = 13
	OldestMirror = 15 // the first whose views can be security_invoker
	Newest       = 18
)

// CheckServer refuses a mirror of a version that is not served; [Read] and [Check] refuse such a
// protected database.
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

func checkData(version int) error {
	return checkVersion("protected database", version, OldestData)
}

func checkMirror(version int) error { return checkVersion("mirror", version, OldestMirror) }

// A VersionError refuses a server of a version that is not served.
type VersionError struct {
	Server string // the protected database, or the mirror
	// Major is the server's version, Oldest the first that is served for it.
	Major, Oldest int
}

// Error says what to do.
func (e *VersionError) Error() string {
	if e.Major < e.Oldest {
		return fmt.Sprintf("the %s is Postgres %d; it must be %d to %d: upgrade it", e.Server, e.Major, e.Oldest, Newest)
	}
	return fmt.Sprintf("the %s is Postgres %d, which this dpproxy does not know; it must be %d to %d: use a dpproxy that knows Postgres %d",
		e.Server, e.Major, e.Oldest, Newest, e.Major)
}

// checkVersion takes a server_version_num.
func checkVersion(server string, version, oldest int) error {
	if major := version / 10000; major < oldest || major > Newest {
		return &VersionError{server, major, oldest}
	}
	return nil
}
