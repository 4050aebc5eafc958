package introspect

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// zonesOf has the time zones of servers that were asked, by address and start: a server reads more than a thousand files to list them,
// and has the same while it runs.
var zonesOf = struct {
	sync.Mutex
	of map[string]map[string]bool
}{of: map[string]map[string]bool{}}

// TimeZones returns the names of time zones that the server accepts, in lower case. It is the same map for all callers, who must not
// change it.
func TimeZones(ctx context.Context, conn *pgx.Conn) (map[string]bool, error) {
	var started string
	if err := conn.QueryRow(ctx, "SELECT CAST(pg_catalog.pg_postmaster_start_time() AS pg_catalog.text)").Scan(&started); err != nil {
		return nil, err
	}
	server := fmt.Sprintf("%s:%d since %s", conn.Config().Host, conn.Config().Port, started)
	zonesOf.Lock()
	known := zonesOf.of[server]
	zonesOf.Unlock()
	if known != nil {
		return known, nil
	}
	rows, err := conn.Query(ctx, "SELECT name FROM pg_catalog.pg_timezone_names")
	if err != nil {
		return nil, err
	}
	zones := map[string]bool{}
	var name string
	if _, err = pgx.ForEachRow(rows, []any{&name}, func() error {
		zones[strings.ToLower(name)] = true
		return nil
	}); err != nil {
		return nil, err
	}
	zonesOf.Lock()
	defer zonesOf.Unlock()
	zonesOf.of[server] = zones
	return zones, nil
}
