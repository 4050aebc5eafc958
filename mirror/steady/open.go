package steady

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// Patience is how long a lock is waited for. Whoever waits longer would hold up others in the queue of a change of the schema.
const Patience = "2s"

// ErrLocked says that a change of the schema is under way and did not end in time.
var ErrLocked = errors.New("a change of the schema of the real database is under way: try again when it has ended")

// Open begins a transaction in which rows of the relations, and the catalogue of them, can be read. Relations that are missing, that
// the role may not read, or that LOCK cannot name, are not locked: the caller's check refuses them.
//
// An error of [ErrLocked] says that a lock was not to be had within [Patience].
func Open(ctx context.Context, conn *pgx.Conn, names []catalog.Name) (pgx.Tx, error) {
	for n := 1; ; n++ {
		tx, err := open(ctx, conn, names)
		refused, ok := errors.AsType[*pgconn.PgError](err)
		switch {
		case ok && refused.Code == lockNotAvailable:
			return nil, ErrLocked
		case ok && slices.Contains(otherKind, refused.Code) && n < tries:
			continue // it was changed between the look at the kinds and the lock
		}
		return tx, err
	}
}

const lockNotAvailable = "55P03"

// otherKind are the SQLSTATEs of a name that means nothing, or another kind of relation, by now.
var otherKind = []string{"42P01", "42809", "3F000"}

// tries is how often a schema may change between a look and the lock.
const tries = 5

func open(ctx context.Context, conn *pgx.Conn, names []catalog.Name) (_ pgx.Tx, err error) {
	relations, err := readable(ctx, conn, names)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, introspect.Snapshot)
	if err != nil {
		return nil, err
	}
	_, err = conn.PgConn().Exec(ctx, "SET LOCAL lock_timeout = '"+Patience+"'; "+Lock(relations)).ReadAll()
	if err != nil {
		_ = tx.Rollback(ctx)
		return nil, err
	}
	return tx, nil
}

// readable returns the relations of the names, with their kinds, that the role may read.
func readable(ctx context.Context, conn *pgx.Conn, names []catalog.Name) ([]*catalog.Table, error) {
	schemas, tables := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		schemas[i], tables[i] = n.Schema, n.Name
	}
	rows, err := conn.Query(ctx, `
		SELECT n.nspname, c.relname, c.relkind, c.oid FROM unnest($1::pg_catalog.text[], $2::pg_catalog.text[]) AS want(s, t)
		JOIN pg_catalog.pg_namespace n ON n.nspname = s JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = t
		WHERE pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
		ORDER BY 1, 2`, schemas, tables)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*catalog.Table, error) {
		t, kind := &catalog.Table{}, rune(0)
		err := row.Scan(&t.Name.Schema, &t.Name.Name, &kind, &t.OID)
		t.Kind = byte(kind)
		return t, err
	})
}

// Compare reports in an error which relations do not have their fingerprints any more, in a snapshot of its own. The connection must
// be another one than that of the transaction whose reads it is about, which must still be open: its locks keep everything that it
// has read as it is.
func Compare(ctx context.Context, conn *pgx.Conn, of []*catalog.Table) error {
	want, names := map[uint32]string{}, map[uint32]catalog.Name{}
	for _, t := range of {
		want[t.OID], names[t.OID] = t.Fingerprint, t.Name
	}
	rows, err := conn.Query(ctx, introspect.FingerprintOf(want))
	if err != nil {
		return err
	}
	var oid uint32
	var fingerprint string
	if _, err := pgx.ForEachRow(rows, []any{&oid, &fingerprint}, func() error {
		if want[oid] == fingerprint {
			delete(want, oid)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, oid := range slices.Sorted(maps.Keys(want)) {
		return fmt.Errorf("the schema of %v changed meanwhile: try again", names[oid])
	}
	return nil
}
