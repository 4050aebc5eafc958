package mirror

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/ddl"
)

// reachSQL lists the pairs (start, reached) where a relation of $1 can show rows of
// one of $2: through a view, through inheritance or partitioning in either
// direction, or, unless $3 is NULL, because a foreign key says that such rows exist, of a relation that is none of $3.
const reachSQL = `
WITH RECURSIVE reach(start, oid) AS (
	SELECT o, o FROM unnest($1::oid[]) AS o
	UNION
	SELECT r.start, e.oid FROM reach r CROSS JOIN LATERAL (
		SELECT confrelid FROM pg_constraint WHERE conrelid = r.oid AND contype = 'f' AND r.oid <> ALL ($3::oid[])
		UNION ALL SELECT inhparent FROM pg_inherits WHERE inhrelid = r.oid
		UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = r.oid
		UNION ALL SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d
			ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
			WHERE w.ev_class = r.oid
	) AS e(oid))
SELECT DISTINCT start, oid FROM reach WHERE oid = ANY ($2::oid[]) ORDER BY 1, 2`

// reaching returns the OIDs of all relations on the mirror that nobody may read: those that can show rows of one that the plan
// does not permit, these included, and all others of ours that are not public in the plan.
func reaching(ctx context.Context, tx pgx.Tx, p Plan) ([]uint32, error) {
	barred, err := oidsOf(ctx, tx, p.barred())
	if err != nil {
		return nil, err
	}
	public, err := oidsOf(ctx, tx, p.Public)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `SELECT c.oid, r.rolname = $1 AND n.nspname <> ALL ($2)
			AND NOT starts_with(coalesce(obj_description(c.oid, 'pg_class'), ''), $3)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
			AND n.nspname !~ '^pg_(toast|temp)'`, ddl.Owner, []string{ddl.Reserved, ddl.Records}, ofAnswers)
	if err != nil {
		return nil, err
	}
	var all []uint32
	closed := slices.Collect(maps.Keys(barred))
	var oid uint32
	var ours bool
	_, err = pgx.ForEachRow(rows, []any{&oid, &ours}, func() error {
		all = append(all, oid)
		if _, open := public[oid]; ours && !open {
			closed = append(closed, oid)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, "SELECT DISTINCT start FROM ("+reachSQL+") AS r ORDER BY 1", all, closed, nil)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uint32])
}
