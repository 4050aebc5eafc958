package introspect

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// constraints reads the primary-key and unique constraints, but for temporal ones, which not
// every mirror has. Their texts hold names alone.
func (r *reader) constraints(ctx context.Context) error {
	return r.definitions(ctx, `
		SELECT k.conrelid, k.conname, pg_get_constraintdef(k.oid), `+indexColumns+` FROM pg_constraint k `+
		`JOIN pg_index i ON i.indexrelid = k.conindid
		WHERE k.conrelid = ANY ($1) AND k.contype IN ('p', 'u') AND i.indisvalid AND NOT i.indisexclusion
		ORDER BY k.conrelid, k.contype, k.conname`,
		func(t *catalog.Table, d catalog.Definition) { t.Constraints = append(t.Constraints, d) })
}

// indexes reads the indexes that belong to no constraint and whose text holds names
// alone.
func (r *reader) indexes(ctx context.Context) error {
	return r.definitions(ctx, `
		SELECT i.indrelid, c.relname, pg_get_indexdef(i.indexrelid), `+indexColumns+` FROM pg_index i `+
		`JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = ANY ($1) AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND `+plainIndex+`
			AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
		ORDER BY i.indrelid, c.relname`,
		func(t *catalog.Table, d catalog.Definition) { t.Indexes = append(t.Indexes, d) })
}

// sorted reads the indexes in whose order rows can be read.
func (r *reader) sorted(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, `
		SELECT i.indrelid, c.relname, array_agg(a.attname::text ORDER BY k.n)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		CROSS JOIN generate_series(0, i.indnatts - 1) AS k(n)
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.n]
		WHERE i.indrelid = ANY ($1) AND `+sortedIndex+`
		GROUP BY i.indexrelid, i.indrelid, c.relname ORDER BY i.indrelid, c.relname`, r.oids)
	if err != nil {
		return err
	}
	var relation uint32
	var i catalog.Index
	_, err = pgx.ForEachRow(rows, []any{&relation, &i.Name, &i.Columns}, func() error {
		t := r.byOID[relation]
		t.Sorted = append(t.Sorted, catalog.Index{Name: i.Name, Columns: slices.Clone(i.Columns)})
		return nil
	})
	return err
}

// sortedIndex holds for an index i that has all rows in the order of its first column, as
// Postgres compares it, and that can be used.
//
// An index that was built while a transaction could still see rows as they had been before
// an update (indcheckxmin) is left out by Postgres until the row of pg_index is older than
// all that the transaction can see (TransactionXmin). That has no function: it is the xmin
// of the snapshot, or older by the transactions that ended just before it. A margin of 100,000
// transactions is more than these.
const sortedIndex = `i.indisvalid AND i.indisready AND i.indislive AND i.indpred IS NULL AND i.indexprs IS NULL
	AND (NOT i.indcheckxmin OR pg_catalog.age(i.xmin) >
		pg_catalog.age(pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::pg_catalog.xid) + 100000)
	AND EXISTS (
	SELECT FROM pg_catalog.pg_class r JOIN pg_catalog.pg_am m ON m.oid = r.relam
	JOIN pg_catalog.pg_attribute f ON f.attrelid = i.indrelid AND f.attnum = i.indkey[0]
	JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[0]
	WHERE r.oid = i.indexrelid AND m.amname = 'btree' AND o.opcdefault AND i.indcollation[0] = f.attcollation)`

// plainIndex holds for an index i that needs nothing but its columns' types and objects that
// every server of the version has (an OID below FirstUserOID): an access method or an
// operator class of an extension may not be on the mirror.
const plainIndex = `NOT EXISTS (SELECT FROM pg_opclass o
		WHERE o.oid = ANY (i.indclass) AND (o.opcmethod >= 16384 OR o.oid >= 16384 AND NOT o.opcdefault))
	AND NOT EXISTS (SELECT FROM generate_series(0, i.indnkeyatts - 1) AS n
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n]
		WHERE i.indcollation[n] >= 16384 AND i.indcollation[n] <> a.attcollation)`

// indexColumns selects the names of the columns that an index i is about.
const indexColumns = `(SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
	WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey))`

// definitions runs a query for (relation oid, name, text, columns), and adds each row to
// its relation.
func (r *reader) definitions(ctx context.Context, query string, add func(*catalog.Table, catalog.Definition)) error {
	rows, err := r.tx.Query(ctx, query, r.oids)
	if err != nil {
		return err
	}
	var relation uint32
	var d catalog.Definition
	_, err = pgx.ForEachRow(rows, []any{&relation, &d.Name, &d.Text, &d.Columns}, func() error {
		found := d
		found.Columns = slices.Clone(d.Columns)
		add(r.byOID[relation], found)
		return nil
	})
	return err
}
