package introspect

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// collations reads the collations of columns. Their parts differ between the
// versions of Postgres: ICU's locale has had three places.
func collations(ctx context.Context, tx pgx.Tx, relations []uint32) (map[catalog.Name]*catalog.Collation, error) {
	rows, err := tx.Query(ctx, `
		SELECT n.nspname, l.collname, l.collprovider, l.collisdeterministic, coalesce(l.collcollate, ''), coalesce(l.collctype, ''),
			coalesce(to_jsonb(l) ->> 'colllocale', to_jsonb(l) ->> 'colliculocale', l.collcollate, ''), `+
		`coalesce(to_jsonb(l) ->> 'collicurules', '')
		FROM pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace
		WHERE (n.nspname, l.collname) NOT IN (('pg_catalog', 'default'), ('pg_catalog', 'C'), ('pg_catalog', 'POSIX'))
			AND l.oid IN (SELECT attcollation FROM pg_attribute WHERE attrelid = ANY ($1) AND attnum > 0 AND NOT attisdropped)`, relations)
	if err != nil {
		return nil, err
	}
	found := map[catalog.Name]*catalog.Collation{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var c catalog.Collation
		var provider rune
		err := row.Scan(&c.Name.Schema, &c.Name.Name, &provider, &c.Deterministic, &c.Collate, &c.Ctype, &c.Locale, &c.Rules)
		c.Provider = byte(provider)
		found[c.Name] = &c
		return struct{}{}, err
	})
	return found, err
}
