package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// copyRows replaces the rows of the public tables. The rows come from the snapshot
// that the catalogue was read in, so foreign keys between them hold and need no
// check.
func copyRows(ctx context.Context, from, to pgx.Tx, s *catalog.Schema, public []catalog.Name, report func(string)) error {
	if _, err := to.Exec(ctx, "SET LOCAL session_replication_role = replica"); err != nil {
		return err
	}
	for _, n := range public {
		count, err := copyTable(ctx, from, to, s.Tables[n])
		if err != nil {
			return fmt.Errorf("copy public table %v: %w", n, err)
		}
		report(fmt.Sprintf("copy %d rows of %v", count, n))
	}
	_, err := to.Exec(ctx, "SET LOCAL session_replication_role = origin")
	return err
}

// copyTable deletes instead of truncating, so that sessions on the mirror read the
// old rows until the transaction ends.
func copyTable(ctx context.Context, from, to pgx.Tx, t *catalog.Table) (int64, error) {
	name := qualified(t.Name)
	if _, err := to.Exec(ctx, "DELETE FROM "+name); err != nil {
		return 0, err
	}
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = c.Name
	}
	out := fmt.Sprintf("COPY (SELECT %s FROM %s) TO STDOUT (FORMAT %s)", idents(columns), name, format(t))
	in := fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT %s)", name, idents(columns), format(t))
	pipe, feed := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := from.Conn().PgConn().CopyTo(ctx, feed, out)
		feed.CloseWithError(err)
		sent <- err
	}()
	tag, err := to.Conn().PgConn().CopyFrom(ctx, pipe, in)
	pipe.CloseWithError(err)
	if err := errors.Join(<-sent, err); err != nil {
		return 0, err
	}
	_, err = to.Exec(ctx, "ANALYZE "+name)
	return tag.RowsAffected(), err
}

// format is binary unless a value would carry a type's OID, which differs between
// the servers for types made by users: arrays and composites of them.
func format(t *catalog.Table) string {
	for _, c := range t.Columns {
		if c.Type.BaseOID >= firstUserOID && c.Type.Kind != 'e' {
			return "text"
		}
	}
	return "binary"
}

// CountRows returns how many rows each public table has on the mirror. They were
// copied there, so that their number is nobody's secret.
func CountRows(ctx context.Context, mirror *pgx.Conn, public []catalog.Name) (map[catalog.Name]int64, error) {
	counts := make(map[catalog.Name]int64, len(public))
	for _, n := range public {
		var count int64
		if err := mirror.QueryRow(ctx, "SELECT pg_catalog.count(*) FROM "+qualified(n)).Scan(&count); err != nil {
			return nil, fmt.Errorf("mirror: count the rows of %v: %w", n, err)
		}
		counts[n] = count
	}
	return counts, nil
}
