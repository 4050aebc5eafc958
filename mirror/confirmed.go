package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
)

// Confirmed returns the fingerprints that the relations of the real database had when the
// mirror was last made: with these the administrator took the policy to fit. It is empty
// for a mirror that never was.
func Confirmed(ctx context.Context, mirror *pgx.Conn) (map[catalog.Name]string, error) {
	found, err := confirmed(ctx, mirror)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if ok && refused.Code == undefinedTable {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mirror: read what was confirmed: %w", err)
	}
	return found, nil
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func confirmed(ctx context.Context, q querier) (map[catalog.Name]string, error) {
	rows, err := q.Query(ctx, "SELECT schema, name, fingerprint FROM dp.confirmed")
	if err != nil {
		return nil, err
	}
	found := map[catalog.Name]string{}
	var n catalog.Name
	var fingerprint string
	_, err = pgx.ForEachRow(rows, []any{&n.Schema, &n.Name, &fingerprint}, func() error {
		found[n] = fingerprint
		return nil
	})
	return found, err
}

// confirm records the fingerprints of what Sync has read.
func confirm(ctx context.Context, tx pgx.Tx, p Plan, s *catalog.Schema, report func(string)) error {
	want := map[catalog.Name]string{}
	for _, n := range p.names() {
		want[n] = s.Tables[n].Fingerprint
	}
	have, err := confirmed(ctx, tx)
	if err != nil || maps.Equal(have, want) {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM dp.confirmed"); err != nil {
		return err
	}
	for n, fingerprint := range want {
		if _, err := tx.Exec(ctx, "INSERT INTO dp.confirmed VALUES ($1, $2, $3)", n.Schema, n.Name, fingerprint); err != nil {
			return err
		}
	}
	report("confirm the schema of the real database")
	return nil
}
