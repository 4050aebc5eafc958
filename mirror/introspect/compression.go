package introspect

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// Compressed returns a warning for each column of texts or arrays of the tables, or of partitions of them, that
// is compressed with lz4: the start of a text cannot be fetched alone then, and an array can be many times what
// it is as it is stored, so that reads take longer for long ones. It is no part of the schema, since nothing is
// proved by it.
//
// Values that were compressed before keep their compression when it is altered, also in VACUUM
// FULL: they must be computed anew.
func Compressed(ctx context.Context, conn *pgx.Conn, tables []catalog.Name) ([]string, error) {
	var names []string
	for _, n := range tables {
		names = append(names, quote.Name(n))
	}
	rows, err := conn.Query(ctx, compressedSQL, names)
	if err != nil {
		return nil, fmt.Errorf("mirror: read the compression of columns: %w", err)
	}
	var warnings []string
	var table, column string
	var array bool
	_, err = pgx.ForEachRow(rows, []any{&table, &column, &array}, func() error {
		values, nothing := "texts", "''"
		if array {
			values, nothing = "arrays", "'{}'"
		}
		warnings = append(warnings, fmt.Sprintf("%[3]s of %[1]s of %[2]s are compressed with lz4, and fetched whole: "+
			"reads take the longer the longer they are; on the protected database: "+
			"ALTER TABLE %[2]s ALTER COLUMN %[1]s SET COMPRESSION pglz; UPDATE %[2]s SET %[1]s = %[1]s || %[4]s",
			column, table, values, nothing))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mirror: read the compression of columns: %w", err)
	}
	return warnings, nil
}

// compressedSQL selects the tables and columns. Before Postgres 14 there is no other compression
// than pglz; a column without one of its own has the default.
const compressedSQL = `
WITH RECURSIVE stored(oid) AS (
	SELECT pg_catalog.to_regclass(n)::pg_catalog.oid FROM pg_catalog.unnest($1::pg_catalog.text[]) AS n
	UNION SELECT h.inhrelid FROM stored JOIN pg_catalog.pg_inherits h ON h.inhparent = stored.oid)
SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), pg_catalog.quote_ident(a.attname), t.typcategory = 'A'
FROM stored JOIN pg_catalog.pg_class c ON c.oid = stored.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND t.typcategory IN ('A', 'S') AND a.attstorage IN ('x', 'm')
	AND CASE pg_catalog.to_jsonb(a) OPERATOR(pg_catalog.->>) 'attcompression' WHEN 'l' THEN true
		WHEN '' THEN pg_catalog.current_setting('default_toast_compression', true) = 'lz4' ELSE false END
ORDER BY 1, a.attnum`
