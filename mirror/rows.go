package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/quote"
)

// copyRows replaces the rows of the public tables that differ, and reports whether there are any. The rows come from the
// snapshot that the catalogue was read in, so foreign keys between them hold and need no
// check.
func copyRows(
	ctx context.Context, from, to pgx.Tx, s *catalog.Schema, public []catalog.Name, report func(string),
) (copied bool, err error) {
	if _, err := to.Exec(ctx, "SET LOCAL session_replication_role = replica"); err != nil {
		return false, err
	}
	for _, n := range public {
		same, err := sameRows(ctx, from, to, s.Tables[n])
		if err != nil {
			return copied, fmt.Errorf("compare public table %v: %w", n, err)
		}
		if same {
			continue
		}
		count, err := copyTable(ctx, from, to, s.Tables[n])
		if err != nil {
			return copied, fmt.Errorf("copy public table %v: %w", n, err)
		}
		copied = true
		report(fmt.Sprintf("copy %d rows of %v", count, n))
	}
	_, err = to.Exec(ctx, "SET LOCAL session_replication_role = origin")
	return copied, err
}

// rowsSQL digests the rows of a table, whatever their order. The texts of the rows are the
// same on both servers: see introspect.PlainText.
const rowsSQL = `SELECT pg_catalog.count(*)::text
	|| ' ' || coalesce(pg_catalog.sum(('x' || pg_catalog.left(h, 15))::bit(60)::bigint), 0)::text
	|| '/' || coalesce(pg_catalog.sum(('x' || pg_catalog.right(h, 15))::bit(60)::bigint), 0)::text
	FROM (SELECT pg_catalog.md5(t::text) AS h FROM (SELECT %s FROM %s%s) AS t) AS rows`

// columnsOf names the columns of a table that are copied.
func columnsOf(t *catalog.Table) []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// sameRows reports whether a public table has the same rows on both sides.
func sameRows(ctx context.Context, from, to pgx.Tx, t *catalog.Table) (bool, error) {
	theirs, err := rowsOf(ctx, from, t)
	if err != nil {
		return false, err
	}
	ours, err := rowsOf(ctx, to, t)
	return theirs == ours, err
}

// rowsOf returns the number of the rows of a table and their digest.
func rowsOf(ctx context.Context, tx pgx.Tx, t *catalog.Table) (text string, err error) {
	err = tx.QueryRow(ctx, fmt.Sprintf(rowsSQL, quote.Idents(columnsOf(t)), t.Only(), quote.Name(t.Name))).Scan(&text)
	return text, err
}

// copyTable deletes instead of truncating, so that sessions on the mirror read the
// old rows until the transaction ends.
func copyTable(ctx context.Context, from, to pgx.Tx, t *catalog.Table) (int64, error) {
	name := quote.Name(t.Name)
	if _, err := to.Exec(ctx, "DELETE FROM "+name); err != nil {
		return 0, err
	}
	columns := columnsOf(t)
	rows := fmt.Sprintf("SELECT %s FROM %s%s", quote.Idents(columns), t.Only(), name)
	out := fmt.Sprintf("COPY (%s) TO STDOUT (FORMAT %s)", rows, format(t))
	in := fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT %s)", name, quote.Idents(columns), format(t))
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

// textOID is the OID of type text on every server.
const textOID = 25

// format is binary unless a value would carry a type's OID, which differs between
// the servers for types made by users: arrays and composites of them; or where a text
// stands in for another type.
func format(t *catalog.Table) string {
	for _, c := range t.Columns {
		if c.Type.BaseOID >= introspect.FirstUserOID && c.Type.Kind != 'e' || c.Type.Display == ddl.StandIn && c.Type.OID != textOID {
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
		if err := mirror.QueryRow(ctx, "SELECT pg_catalog.count(*) FROM "+quote.Name(n)).Scan(&count); err != nil {
			return nil, fmt.Errorf("mirror: count the rows of %v: %w", n, err)
		}
		counts[n] = count
	}
	return counts, nil
}
