package mirror

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// maxRepeats is the size of a public table up to which its rows with one value are counted: dpproxy
// does it when it starts.
const maxRepeats = 100_000

// groupable lists the columns whose values GROUP BY takes.
const groupable = `SELECT a.attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
	WHERE a.attrelid = $1::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped
	AND (t.typcategory IN ('B', 'D', 'E', 'N', 'S') OR t.typname = 'uuid') ORDER BY a.attnum`

// CountRepeats returns the most rows of each public table of the mirror that have one value of a
// column, NULL included. Tables of many rows are left out.
func CountRepeats(ctx context.Context, mirror *pgx.Conn, sizes map[catalog.Name]int64) (map[catalog.Name]map[string]int64, error) {
	all := map[catalog.Name]map[string]int64{}
	for n, size := range sizes {
		if size > maxRepeats {
			continue
		}
		rows, err := mirror.Query(ctx, groupable, quote.Name(n))
		if err != nil {
			return nil, fmt.Errorf("mirror: list the columns of %v: %w", n, err)
		}
		columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("mirror: list the columns of %v: %w", n, err)
		}
		all[n] = map[string]int64{}
		for _, c := range columns {
			var most int64
			sql := "SELECT COALESCE(pg_catalog.max(n), 0) FROM (SELECT pg_catalog.count(*) AS n FROM " +
				quote.Name(n) + " GROUP BY " + quote.Ident(c) + ") r"
			if err := mirror.QueryRow(ctx, sql).Scan(&most); err != nil {
				return nil, fmt.Errorf("mirror: count the repeats of %v: %w", n, err)
			}
			all[n][c] = most
		}
	}
	return all, nil
}
