package introspect

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// A Packed is a column of texts or arrays that is compressed with lz4: the start of a text cannot be fetched alone then, and an array can
// be many times what it is as it is stored, so that reads take longer for long ones.
type Packed struct {
	Table  catalog.Name
	Column string // as SQL has it
	Array  bool
}

// Warning tells of the column and what to do; alike is what is told of all such columns.
func (p Packed) Warning() (said, alike string) {
	values, nothing := "texts", "''"
	if p.Array {
		values, nothing = "arrays", "'{}'"
	}
	const fetched = "compressed with lz4, and fetched whole: reads take the longer the longer they are; on the protected database: " +
		"ALTER TABLE %[2]s ALTER COLUMN %[1]s SET COMPRESSION pglz; UPDATE %[2]s SET %[1]s = %[1]s || %[3]s"
	return fmt.Sprintf("%[4]s of %[1]s are "+fetched, p.Column, quote.Name(p.Table), nothing, values),
		fmt.Sprintf(values+" are "+fetched, "COLUMN", "TABLE", nothing)
}

// Compressed returns the columns of the tables, or of partitions of them, that are compressed with lz4. That is no part of the schema,
// since nothing is proved by it.
//
// Values that were compressed before keep their compression when it is altered, also in VACUUM
// FULL: they must be computed anew.
func Compressed(ctx context.Context, conn *pgx.Conn, tables []catalog.Name) ([]Packed, error) {
	var names []string
	for _, n := range tables {
		names = append(names, quote.Name(n))
	}
	rows, err := conn.Query(ctx, compressedSQL, names)
	if err != nil {
		return nil, fmt.Errorf("mirror: read the compression of columns: %w", err)
	}
	packed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Packed, err error) {
		err = row.Scan(&p.Table.Schema, &p.Table.Name, &p.Column, &p.Array)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("mirror: read the compression of columns: %w", err)
	}
	return packed, nil
}

// compressedSQL selects the tables and columns. Before Postgres 14 there is no other compression
// than pglz; a column without one of its own has the default.
const compressedSQL = `
WITH RECURSIVE stored(oid) AS (
	SELECT pg_catalog.to_regclass(n)::pg_catalog.oid FROM pg_catalog.unnest($1::pg_catalog.text[]) AS n
	UNION SELECT h.inhrelid FROM stored JOIN pg_catalog.pg_inherits h ON h.inhparent = stored.oid)
SELECT n.nspname, c.relname, pg_catalog.quote_ident(a.attname), t.typcategory = 'A'
FROM stored JOIN pg_catalog.pg_class c ON c.oid = stored.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND t.typcategory IN ('A', 'S') AND a.attstorage IN ('x', 'm')
	AND CASE pg_catalog.to_jsonb(a) OPERATOR(pg_catalog.->>) 'attcompression' WHEN 'l' THEN true
		WHEN '' THEN pg_catalog.current_setting('default_toast_compression', true) = 'lz4' ELSE false END
ORDER BY 1, a.attnum`
