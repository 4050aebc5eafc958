package introspect

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// fulfilled holds for a constraint k that is a CHECK which no row, or no value, violates. One that is NOT VALID, or not enforced, says
// nothing of the rows that are there.
const fulfilled = `k.contype = 'c' AND k.convalidated`

// domainChecksSQL selects the conditions of a domain t.
const domainChecksSQL = `ARRAY(SELECT pg_get_expr(k.conbin, 0) FROM pg_constraint k
				WHERE k.contypid = t.oid AND ` + fulfilled + ` ORDER BY k.conname)`

// checks reads the CHECK constraints. A partitioned table has none that its partitions lack; of another table only its own rows are read.
func checks(ctx context.Context, r *reader) error {
	rows, err := r.tx.Query(ctx, `
		SELECT k.conrelid, pg_get_expr(k.conbin, k.conrelid), ARRAY(SELECT a.attname::text FROM unnest(k.conkey) AS u(num)
			JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num ORDER BY a.attnum)
		FROM pg_constraint k WHERE k.conrelid = ANY ($1) AND `+fulfilled+` ORDER BY k.conrelid, k.conname`, r.oids)
	if err != nil {
		return err
	}
	var relation uint32
	var c catalog.Check
	_, err = pgx.ForEachRow(rows, []any{&relation, &c.Expr, &c.Columns}, func() error {
		t := r.byOID[relation]
		t.Checks = append(t.Checks, c)
		c.Columns = nil
		return nil
	})
	return err
}

// checksText lists the CHECK constraints of a relation c, and those of the domains of its columns and of domains directly below these,
// each as a short digest of its meaning: of those that given.checks lists, unless that is NULL.
var checksText = `(SELECT pg_catalog.string_agg(DISTINCT k.id, ',' ORDER BY k.id)
    FROM (SELECT pg_catalog.concat(k.contypid, '.', pg_catalog.left(` + asMeant("k.conbin") + `, 12))
       FROM (SELECT c.oid, 0 UNION ALL
             SELECT 0, pg_catalog.unnest(ARRAY[t.oid, t.typbasetype]) FROM pg_catalog.pg_attribute a
               JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384 AND t.typtype = 'd'
            ) AS of (relation, domain)
       JOIN pg_catalog.pg_constraint k ON k.conrelid = of.relation AND k.contypid = of.domain
      WHERE ` + fulfilled + `) AS k (id)
   WHERE given.checks IS NULL OR k.id = ANY (pg_catalog.string_to_array(given.checks, ',')))`
