package mirror

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
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

// Check refuses what [Sync] refuses in the real database, and changes nothing: relations
// that are missing, and those that the rules of ownership cannot hold for.
func Check(ctx context.Context, upstream *pgx.Conn, plan Plan) error {
	from, err := upstream.BeginTx(ctx, introspect.Snapshot)
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	defer from.Rollback(ctx)
	if _, err := plan.fit(ctx, from); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// fit reads the schema of a real database that the plan fits.
func (p Plan) fit(ctx context.Context, tx pgx.Tx) (*catalog.Schema, error) {
	schema, err := p.read(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := complete(schema, p.names()); err != nil {
		return nil, err
	}
	return schema, p.guard(ctx, tx, schema)
}

// guard refuses relations that the rules of ownership cannot hold for.
func (p Plan) guard(ctx context.Context, tx pgx.Tx, s *catalog.Schema) error {
	var faults []error
	for _, t := range p.Protected {
		if why := unfitProtected(s.Tables[t.Name]); why != "" {
			faults = append(faults, fmt.Errorf("protected table %v %s", t.Name, why))
		}
	}
	for _, n := range p.Public {
		if why := unfitPublic(s.Tables[n]); why != "" {
			faults = append(faults, fmt.Errorf("public table %v %s", n, why))
		}
	}
	for _, problem := range p.Problems(s) {
		faults = append(faults, fmt.Errorf("%v: %s", problem.Table, problem.Message))
	}
	derived, err := p.derived(ctx, tx, s)
	return errors.Join(append(faults, append(derived, err)...)...)
}

func unfitProtected(t *catalog.Table) string {
	switch {
	case t.Kind == 'm':
		return "is a materialised view: name the tables it is made from"
	case t.Kind == 'f':
		return "is a foreign table"
	case t.RowSecurity:
		return "is under row security for the reader: grant the reading role BYPASSRLS, or drop the policies"
	case t.Kind == 'r' && len(t.Children) > 0:
		return fmt.Sprintf("has inheritance children (%v): keys of the table do not hold for them", t.Children[0])
	}
	return ""
}

func unfitPublic(t *catalog.Table) string {
	switch {
	case t.Kind == 'f':
		return "is a foreign table"
	case t.RowSecurity:
		return "is under row security for the reader: some of its rows would be missing"
	}
	return ""
}

// derived finds public relations that depend on protected ones.
func (p Plan) derived(ctx context.Context, tx pgx.Tx, s *catalog.Schema) ([]error, error) {
	names := map[uint32]catalog.Name{}
	var public, protected []uint32
	for _, n := range p.Public {
		public = append(public, s.Tables[n].OID)
		names[s.Tables[n].OID] = n
	}
	for _, n := range p.barred() {
		protected = append(protected, s.Tables[n].OID)
		names[s.Tables[n].OID] = n
	}
	rows, err := tx.Query(ctx, reachSQL, public, protected, true)
	if err != nil {
		return nil, err
	}
	var faults []error
	var from, to uint32
	_, err = pgx.ForEachRow(rows, []any{&from, &to}, func() error {
		faults = append(faults, fmt.Errorf(
			"public table %v references, inherits from or is a view over the protected %v", names[from], names[to]))
		return nil
	})
	return faults, err
}
