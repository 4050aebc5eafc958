package mirror

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// maxMeasured is the size of a public table up to which its texts are measured: dpproxy does it when it starts.
const maxMeasured = 1_000_000

// texts lists the columns of texts.
const texts = `SELECT a.attname FROM pg_catalog.pg_attribute a
	WHERE a.attrelid = $1::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped
	AND a.atttypid IN ('text'::pg_catalog.regtype, 'varchar'::pg_catalog.regtype) ORDER BY a.attnum`

// MeasureTexts returns the bytes of the longest text in each such column of public tables of the mirror. Tables of many rows are left out.
func MeasureTexts(ctx context.Context, mirror *pgx.Conn, sizes map[catalog.Name]int64) (map[catalog.Name]map[string]int64, error) {
	all := map[catalog.Name]map[string]int64{}
	for n, size := range sizes {
		if size > maxMeasured {
			continue
		}
		rows, err := mirror.Query(ctx, texts, quote.Name(n))
		if err != nil {
			return nil, fmt.Errorf("mirror: list the texts of %v: %w", n, err)
		}
		columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("mirror: list the texts of %v: %w", n, err)
		}
		if len(columns) == 0 {
			continue
		}
		longest := make([]string, len(columns))
		for i, c := range columns {
			longest[i] = "COALESCE(pg_catalog.max(pg_catalog.octet_length(" + quote.Ident(c) + ")), 0)"
		}
		var lengths []int64
		sql := "SELECT ARRAY[" + strings.Join(longest, ", ") + "] FROM " + quote.Name(n)
		if err := mirror.QueryRow(ctx, sql).Scan(&lengths); err != nil {
			return nil, fmt.Errorf("mirror: measure the texts of %v: %w", n, err)
		}
		all[n] = map[string]int64{}
		for i, c := range columns {
			all[n][c] = lengths[i]
		}
	}
	return all, nil
}
