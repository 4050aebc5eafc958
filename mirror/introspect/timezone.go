package introspect

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// TimeZones returns the names of time zones that the server accepts. They come from files of the server, which it
// reads all: only who plans statements asks for them. Their letters are small.
func TimeZones(ctx context.Context, conn *pgx.Conn) (map[string]bool, error) {
	rows, err := conn.Query(ctx, "SELECT name FROM pg_catalog.pg_timezone_names")
	if err != nil {
		return nil, err
	}
	zones := map[string]bool{}
	var name string
	_, err = pgx.ForEachRow(rows, []any{&name}, func() error {
		zones[strings.ToLower(name)] = true
		return nil
	})
	return zones, err
}
