package introspect

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// foreignKeys lists foreign keys, also those of partitions: rows of a partitioned table satisfy a foreign key that the table has
// itself, or that each of its partitions has. If only some partitions have it, it proves nothing. A foreign key
// to a partition is one to the partitioned table as well.
func foreignKeys(ctx context.Context, r *reader) error {
	rows, err := r.tx.Query(ctx, `
		SELECT k.conrelid, k.conname, n.nspname, c.relname, c.oid <> k.confrelid,
			(SELECT array_agg(a.attname::text ORDER BY u.i) FROM unnest(k.conkey) WITH ORDINALITY u(num, i)
				JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num),
			(SELECT array_agg(a.attname::text ORDER BY u.i) FROM unnest(k.confkey) WITH ORDINALITY u(num, i)
				JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.num),
			k.confdeltype IN ('n', 'd') OR k.confupdtype IN ('n', 'd'), pg_get_constraintdef(k.oid), `+holdsSQL+`
		FROM pg_constraint k CROSS JOIN LATERAL (`+ancestorsSQL+`) AS up
		JOIN pg_class c ON c.oid = up.oid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE k.conrelid = ANY ($1) AND k.contype = 'f' AND `+ofItself+`
		ORDER BY k.conrelid, k.conname, n.nspname, c.relname`, slices.Concat(r.oids, slices.Collect(maps.Keys(r.parts))))
	if err != nil {
		return err
	}
	var relation uint32
	var f catalog.ForeignKey
	var above, holds bool
	into := []any{
		&relation, &f.Name, &f.References.Schema, &f.References.Name, &above, &f.Columns, &f.Target, &f.Forgets, &f.Definition, &holds,
	}
	spreads := map[*catalog.Table]*spread{}
	_, err = pgx.ForEachRow(rows, into, func() error {
		found := f
		found.Columns, found.Target = slices.Clone(f.Columns), slices.Clone(f.Target)
		if above { // its text names the partition
			found.Definition = ""
		}
		if t := r.byOID[relation]; t != nil {
			t.AddForeign(found, holds)
		}
		for _, root := range r.parts[relation] {
			if spreads[root] == nil {
				spreads[root] = &spread{of: root}
			}
			spreads[root].add(relation, found, holds)
		}
		return nil
	})
	for root, s := range spreads {
		s.settle(r.leaves[root])
	}
	return err
}

// ofItself holds for a constraint k that its relation has but for another one of its own: a key to a partitioned table has one
// more entry for each partition of that.
const ofItself = `NOT EXISTS (SELECT FROM pg_catalog.pg_constraint up WHERE up.oid = k.conparentid AND up.conrelid = k.conrelid)`

// treeSQL is a recursive query tree(oid, parent) of the constraints that Postgres has made of one foreign key, of which k is one:
// of each partition that refers or is referred to. Nearly all constraints have no parent (0): that they are greater has
// Postgres look up the few others in the index, rather than read all constraints for each foreign key.
const treeSQL = `tree(oid, parent) AS (
			SELECT k.oid, k.conparentid
			UNION
			SELECT e.oid, e.conparentid FROM tree CROSS JOIN LATERAL (
				SELECT x.oid, x.conparentid FROM pg_catalog.pg_constraint x WHERE x.oid = tree.parent
				UNION ALL
				SELECT x.oid, x.conparentid FROM pg_catalog.pg_constraint x WHERE x.conparentid = tree.oid AND x.conparentid > 0) AS e)`

// holdsSQL holds for a foreign key k that the rows satisfy: it is validated, and all triggers that enforce it fire, on each
// partition. One that is not enforced is never validated; one of periods (PERIOD) says that rows cover
// a time, not that there is one.
const holdsSQL = `to_jsonb(k) ->> 'conperiod' IS DISTINCT FROM 'true' AND NOT EXISTS (
		WITH RECURSIVE ` + treeSQL + `
		SELECT FROM tree JOIN pg_constraint x ON x.oid = tree.oid
		WHERE NOT x.convalidated OR EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = x.oid AND t.tgenabled NOT IN ('O', 'A')))`

// ancestorsSQL selects the relation that a foreign key k refers to, and the partitioned tables that it is a part of.
const ancestorsSQL = `WITH RECURSIVE up(oid) AS (
			SELECT k.confrelid
			UNION
			SELECT h.inhparent FROM up JOIN pg_class p ON p.oid = up.oid AND p.relispartition
				JOIN pg_inherits h ON h.inhrelid = up.oid AND ` + attached + `)
		SELECT up.oid FROM up`
