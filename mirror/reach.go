package mirror

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/quote"
)

// reachSQL lists the pairs (start, reached) where a relation of $1 can show rows of
// one of $2: through a view, through inheritance or partitioning in either
// direction, or, if $3, because a foreign key says that such rows exist.
const reachSQL = `
WITH RECURSIVE reach(start, oid) AS (
	SELECT o, o FROM unnest($1::oid[]) AS o
	UNION
	SELECT r.start, e.oid FROM reach r CROSS JOIN LATERAL (
		SELECT confrelid FROM pg_constraint WHERE conrelid = r.oid AND contype = 'f' AND $3::bool
		UNION ALL SELECT inhparent FROM pg_inherits WHERE inhrelid = r.oid
		UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = r.oid
		UNION ALL SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d
			ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
			WHERE w.ev_class = r.oid
	) AS e(oid))
SELECT DISTINCT start, oid FROM reach WHERE oid = ANY ($2::oid[]) ORDER BY 1, 2`

// reaching returns the OIDs of all relations on the mirror that can show rows of a
// protected one, those included.
func reaching(ctx context.Context, tx pgx.Tx, p Plan) ([]uint32, error) {
	var names []string
	for _, n := range p.barred() {
		names = append(names, quote.Name(n))
	}
	rows, err := tx.Query(ctx, "SELECT n::regclass::oid FROM unnest($1::text[]) AS n", names)
	if err != nil {
		return nil, err
	}
	protected, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	if err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, `SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
			AND n.nspname !~ '^pg_(toast|temp)'`)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	if err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, "SELECT DISTINCT start FROM ("+reachSQL+") AS r ORDER BY 1", all, protected, false)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uint32])
}
