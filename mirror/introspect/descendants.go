package introspect

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// Descendants returns the partitions of the tables and the tables that inherit from them, at any depth,
// but for the tables themselves.
func Descendants(ctx context.Context, conn *pgx.Conn, tables []catalog.Name) ([]catalog.Name, error) {
	schemas, names := make([]string, len(tables)), make([]string, len(tables))
	for i, n := range tables {
		schemas[i], names[i] = n.Schema, n.Name
	}
	rows, err := conn.Query(ctx, `
		WITH RECURSIVE named(oid) AS (
			SELECT c.oid FROM unnest($1::pg_catalog.text[], $2::pg_catalog.text[]) AS want(s, t)
			JOIN pg_catalog.pg_namespace n ON n.nspname = s JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = t
		), below(oid) AS (
			SELECT oid FROM named UNION SELECT h.inhrelid FROM pg_catalog.pg_inherits h JOIN below b ON b.oid = h.inhparent
		)
		SELECT n.nspname, c.relname FROM below b JOIN pg_catalog.pg_class c ON c.oid = b.oid `+
		`JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE b.oid NOT IN (SELECT oid FROM named) AND c.relkind NOT IN ('i', 'I') ORDER BY 1, 2`, schemas, names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[catalog.Name])
}
