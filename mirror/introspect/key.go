package introspect

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// keys lists the indexes that prove uniqueness. An index with an operator class or collation
// of its own may call other values equal than the column's type does; that of a temporal
// key (WITHOUT OVERLAPS) says only that periods do not overlap.
func (r *reader) keys(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, `
		SELECT i.indrelid, c.relname, i.indisprimary, array_agg(a.attname::text ORDER BY k.n)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		CROSS JOIN generate_series(0, i.indnkeyatts - 1) AS k(n)
		JOIN pg_opclass o ON o.oid = i.indclass[k.n]
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.n]
		WHERE i.indrelid = ANY ($1) AND `+provingIndex+`
		GROUP BY i.indexrelid, i.indrelid, c.relname, i.indisprimary
		HAVING bool_and(o.opcdefault AND i.indcollation[k.n] = a.attcollation)
		ORDER BY i.indrelid, i.indisprimary DESC, c.relname`, r.oids)
	if err != nil {
		return err
	}
	var relation uint32
	var k catalog.Key
	_, err = pgx.ForEachRow(rows, []any{&relation, &k.Name, &k.Primary, &k.Columns}, func() error {
		t := r.byOID[relation]
		t.Keys = append(t.Keys, catalog.Key{Name: k.Name, Primary: k.Primary, Columns: slices.Clone(k.Columns)})
		return nil
	})
	return err
}

// foreignKeys lists foreign keys: those that hold are validated ones whose triggers all fire.
// One that is not enforced is never validated; one of periods (PERIOD) says that rows cover
// a time, not that there is one. A key to a partitioned table has one more entry for each
// partition; those are left out.
func (r *reader) foreignKeys(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, `
		SELECT k.conrelid, k.conname, n.nspname, c.relname,
			(SELECT array_agg(a.attname::text ORDER BY u.i) FROM unnest(k.conkey) WITH ORDINALITY u(num, i)
				JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num),
			(SELECT array_agg(a.attname::text ORDER BY u.i) FROM unnest(k.confkey) WITH ORDINALITY u(num, i)
				JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.num),
			pg_get_constraintdef(k.oid),
			k.convalidated AND to_jsonb(k) ->> 'conperiod' IS DISTINCT FROM 'true'
				AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled NOT IN ('O', 'A'))
		FROM pg_constraint k JOIN pg_class c ON c.oid = k.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE k.conrelid = ANY ($1) AND k.contype = 'f'
			AND NOT EXISTS (SELECT FROM pg_constraint up WHERE up.oid = k.conparentid AND up.conrelid = k.conrelid)
		ORDER BY k.conrelid, k.conname`, r.oids)
	if err != nil {
		return err
	}
	var relation uint32
	var f catalog.ForeignKey
	var holds bool
	into := []any{&relation, &f.Name, &f.References.Schema, &f.References.Name, &f.Columns, &f.Target, &f.Definition, &holds}
	_, err = pgx.ForEachRow(rows, into, func() error {
		found := f
		found.Columns, found.Target = slices.Clone(f.Columns), slices.Clone(f.Target)
		t := r.byOID[relation]
		if holds {
			t.Foreign = append(t.Foreign, found)
		} else {
			t.Loose = append(t.Loose, found)
		}
		return nil
	})
	return err
}
