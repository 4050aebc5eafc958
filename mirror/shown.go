package mirror

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
)

// This file lists everything on the mirror that was copied from the real database and that a session there can read. A plan
// permits some of it; the rest must not be there while analysts are served by that plan.

// An UnsafeError says that the mirror, as it is, shows more than a plan permits.
type UnsafeError struct{ Reason string }

// Error implements error.
func (e *UnsafeError) Error() string { return e.Reason }

// A showing is a part of the real database that the mirror shows.
type showing struct {
	// kind is rows, definition or label.
	kind string
	// of is the relation, or the type of a label.
	of    catalog.Name
	label string
}

// shown lists the showings of the mirror: tables of ours without row security, views that Sync has made and that read a
// relation, and labels. Tables of answers have no copied row.
func shown(ctx context.Context, mirror conn) ([]showing, error) {
	rows, err := mirror.Query(ctx, `
		WITH ours AS (
			SELECT c.oid, n.nspname, c.relname, c.relkind, c.relrowsecurity AND c.relforcerowsecurity AS secured
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			JOIN pg_catalog.pg_roles o ON o.oid = c.relowner AND o.rolname = $1
			WHERE c.relpersistence <> 't' AND n.nspname <> ALL ($2)
				AND NOT pg_catalog.starts_with(coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), $3))
		SELECT 'rows', nspname, relname, '' FROM ours WHERE relkind IN ('r', 'p', 'm', 'f') AND NOT secured
		UNION ALL
		SELECT 'definition', nspname, relname, '' FROM ours v WHERE relkind = 'v'
			AND EXISTS (SELECT FROM dpproxy.made m WHERE m.kind = 'view' AND m.name = v.nspname || '.' || v.relname) AND EXISTS (
			SELECT FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d
				ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
			WHERE w.ev_class = v.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> v.oid)
		UNION ALL
		SELECT 'label', n.nspname, t.typname, e.enumlabel
		FROM pg_catalog.pg_enum e JOIN pg_catalog.pg_type t ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
		JOIN pg_catalog.pg_roles o ON o.oid = t.typowner AND o.rolname = $1
		ORDER BY 1, 2, 3, 4`, ddl.Owner, []string{ddl.Reserved, ddl.Records}, ofAnswers)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s showing, err error) {
		return s, row.Scan(&s.kind, &s.of.Schema, &s.of.Name, &s.label)
	})
}

// refuseShown returns an [UnsafeError] if the mirror shows something that the plan does not permit. S is the schema that the
// mirror was made from.
func refuseShown(ctx context.Context, mirror conn, p Plan, s *catalog.Schema) error {
	all, err := shown(ctx, mirror)
	if err != nil {
		return err
	}
	labels := permittedLabels(p, s)
	var faults []string
	for _, x := range all {
		var fault string
		switch {
		case x.kind == "rows" && !slices.Contains(p.Public, x.of):
			fault = fmt.Sprintf("rows of %v, %s", x.of, p.kindOf(x.of))
		case x.kind == "definition" && !slices.ContainsFunc(p.Views, func(v View) bool { return v.Name == x.of && v.whole() }):
			fault = fmt.Sprintf("the definition of %v, which the policy does not show", x.of)
		case x.kind == "label" && !labels(x.of, x.label):
			fault = fmt.Sprintf("labels of the type %v, which the policy does not list", x.of)
		}
		if fault != "" && !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &UnsafeError{"the mirror was made for another policy, and shows " + strings.Join(faults, "; ") + ": run dpproxy sync"}
}

// endSessions ends the sessions of analysts if the mirror shows other things than before: one may hold rows of before, or be of
// another dpproxy, whose policy does not permit what came. The record of the mirror is locked by now, so no log-in ends before the
// commit ([RecordedAs]).
//
// It does not wait for the end: a session may have to drop temporary views that this transaction has locked. Once it has the signal it
// returns no row of a later snapshot, since a scan looks for signals before each row.
func endSessions(ctx context.Context, tx pgx.Tx, before []showing) error {
	now, err := shown(ctx, tx)
	if err != nil || slices.Equal(now, before) {
		return err
	}
	_, err = tx.Exec(ctx, `SELECT pg_catalog.pg_terminate_backend(a.pid) FROM pg_catalog.pg_stat_activity a
		JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid
		WHERE a.datid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
			AND a.pid <> pg_catalog.pg_backend_pid() AND NOT pg_catalog.starts_with(r.rolname, $2)
			AND pg_catalog.shobj_description(r.oid, 'pg_authid') = $1`, ddl.Mark, asidePrefix)
	return err
}
