package introspect

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// keys lists the indexes that prove uniqueness. An index with an operator class or collation
// of its own may call other values equal than the column's type does; that of a temporal
// key (WITHOUT OVERLAPS) says only that periods do not overlap. A key of a partitioned table holds
// across partitions if equal values are in one partition.
func (r *reader) keys(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, `
		SELECT i.indrelid, c.relname, i.indisprimary, array_agg(a.attname::text ORDER BY k.n)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		CROSS JOIN generate_series(0, i.indnkeyatts - 1) AS k(n)
		JOIN pg_opclass o ON o.oid = i.indclass[k.n]
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.n]
		WHERE i.indrelid = ANY ($1) AND `+provingIndex+` AND `+everywhereSQL+` AND `+gatheredSQL+`
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

// everywhereSQL holds for an index i that proves a key if a part of it does so in each partition of its table, at any depth.
// Servers before 15.4 and 14.9 attach partitions whose own index is not valid.
const everywhereSQL = `NOT EXISTS (
		WITH RECURSIVE part(relation, index) AS (
			SELECT h.inhrelid, ` + partSQL + ` FROM (SELECT i.indrelid, i.indexrelid) AS part(relation, index)
			JOIN pg_inherits h ON h.inhparent = part.relation AND ` + attached + `
			JOIN pg_class d ON d.oid = h.inhrelid AND d.relispartition
			UNION
			SELECT h.inhrelid, ` + partSQL + ` FROM part JOIN pg_inherits h ON h.inhparent = part.relation AND ` + attached + `)
		SELECT FROM part WHERE part.index IS NULL)`

// partSQL selects the part of the index part.index in the partition of a row h of pg_inherits, if it proves a key.
const partSQL = `(SELECT min(i.indexrelid) FROM pg_inherits y JOIN pg_index i ON i.indexrelid = y.inhrelid AND i.indrelid = h.inhrelid
		WHERE y.inhparent = part.index AND ` + provingIndex + `)`

// gatheredSQL holds for an index i unless its table, or a partition of it, is partitioned by an operator class of its own or by
// another collation than that of a column whose equal values can differ: equal values could be in two partitions.
const gatheredSQL = `NOT EXISTS (
		WITH RECURSIVE part(oid) AS (SELECT i.indrelid UNION SELECT h.inhrelid FROM part JOIN pg_inherits h ON h.inhparent = part.oid)
		SELECT FROM part JOIN pg_partitioned_table t ON t.partrelid = part.oid CROSS JOIN generate_series(0, t.partnatts - 1) AS p(n)
		JOIN pg_opclass o ON o.oid = t.partclass[p.n]
		LEFT JOIN pg_attribute a ON a.attrelid = t.partrelid AND a.attnum = t.partattrs[p.n]
		LEFT JOIN pg_collation l ON l.oid = a.attcollation
		WHERE NOT o.opcdefault OR a.attnum IS NULL
			OR NOT coalesce(l.collisdeterministic, true) AND t.partcollation[p.n] <> a.attcollation)`
