package mirror

import (
	"cmp"
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
	// kind is rows, definition, label or answers.
	kind string
	// of is the relation, the type of a label, or the table of answers.
	of catalog.Name
	// label is that of a type, or a column of objects that is beside their answers.
	label string
	// objects is the table that these objects are of, empty if an earlier version has shown them.
	objects string
}

// shown lists the showings of the mirror: tables of ours without row security, views that Sync has made and that read a
// relation, labels, and columns of tables of answers but for answers, which have a comment, and what objects have lost by them.
func shown(ctx context.Context, mirror conn) ([]showing, error) {
	rows, err := mirror.Query(ctx, `
		WITH ours AS (
			SELECT c.oid, n.nspname, c.relname, c.relkind, c.relrowsecurity AND c.relforcerowsecurity AS secured,
				coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '') AS comment
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			JOIN pg_catalog.pg_roles o ON o.oid = c.relowner AND o.rolname = $1
			WHERE c.relpersistence <> 't' AND n.nspname <> ALL ($2)),
		copies AS (SELECT * FROM ours WHERE NOT pg_catalog.starts_with(comment, $3))
		SELECT 'rows', nspname, relname, '', '' FROM copies WHERE relkind IN ('r', 'p', 'm', 'f') AND NOT secured
		UNION ALL
		SELECT 'answers', nspname, relname, a.attname, comment FROM ours JOIN pg_catalog.pg_attribute a ON a.attrelid = ours.oid
		WHERE pg_catalog.starts_with(comment, $3) AND a.attnum > 0 AND NOT a.attisdropped
			AND pg_catalog.col_description(a.attrelid, a.attnum) IS NULL AND a.attname <> ALL ($4)
		UNION ALL
		SELECT 'definition', nspname, relname, '', '' FROM copies v WHERE relkind = 'v' AND EXISTS (
			SELECT FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d
				ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
			WHERE w.ev_class = v.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> v.oid)
		UNION ALL
		SELECT 'label', n.nspname, t.typname, e.enumlabel, ''
		FROM pg_catalog.pg_enum e JOIN pg_catalog.pg_type t ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
		JOIN pg_catalog.pg_roles o ON o.oid = t.typowner AND o.rolname = $1
		ORDER BY 1, 2, 3, 4`, ddl.Owner, []string{ddl.Reserved, ddl.Records}, ofAnswers, LossColumns)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s showing, err error) {
		err = row.Scan(&s.kind, &s.of.Schema, &s.of.Name, &s.label, &s.objects)
		_, s.objects = stateOf(s.objects)
		return s, err
	})
	if err != nil || !slices.ContainsFunc(all, showing.defines) {
		return all, err
	}
	made, err := recordOf(ctx, mirror)
	return slices.DeleteFunc(all, func(s showing) bool { return s.defines() && made.Tables[s.of.String()] == nil }), err
}

// defines reports whether it is the definition of a view.
func (x showing) defines() bool { return x.kind == "definition" }

// refuseShown returns an [UnsafeError] if the mirror shows something that the plan does not permit. Was is the schema that the mirror
// was made from, and now that as it is: the plan permits nothing that has another name by now.
func refuseShown(ctx context.Context, mirror conn, p Plan, was *catalog.Schema, now Origins) error {
	all, err := shown(ctx, mirror)
	if err != nil {
		return err
	}
	named, permitted := permittedLabels(p, was, Origins{}), permittedLabels(p, was, now)
	var faults []string
	columns, err := shownColumns(ctx, mirror, p)
	if err != nil {
		return err
	}
	cause := "the real database has changed since the mirror was made, which"
	if columns != nil {
		cause, faults = "the mirror was made for another policy, and", columns
	}
	for _, x := range all {
		fault := cmp.Or(x.unlisted(p, named), x.within(p, was, now))
		if fault != "" {
			cause = "the mirror was made for another policy, and"
		} else {
			fault = x.replaced(was, now, permitted)
		}
		if fault != "" && !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &UnsafeError{cause + " shows " + strings.Join(faults, "; ") + ": run dpproxy sync"}
}

// shownColumns describes the columns of public relations that the mirror has and the plan hides: their values can be read there.
func shownColumns(ctx context.Context, mirror conn, p Plan) (faults []string, err error) {
	for _, n := range p.Public {
		if len(p.hidden(n)) == 0 {
			continue
		}
		rows, err := mirror.Query(ctx, `SELECT a.attname::text FROM pg_catalog.pg_class c
			JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
			WHERE n.nspname = $1 AND c.relname = $2 AND a.attname = ANY ($3) AND NOT a.attisdropped ORDER BY a.attnum`,
			n.Schema, n.Name, p.hidden(n))
		if err != nil {
			return nil, err
		}
		var column string
		_, err = pgx.ForEachRow(rows, []any{&column}, func() error {
			faults = append(faults, fmt.Sprintf("column %q of %v, which the policy hides", column, n))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// unlisted describes a showing that the plan does not permit by its name; empty if it does.
func (x showing) unlisted(p Plan, labels func(of catalog.Name, label string) bool) string {
	switch {
	case x.kind == "rows" && !slices.Contains(p.Public, x.of):
		return fmt.Sprintf("rows of %v, %s", x.of, p.kindOf(x.of))
	case x.defines() && !showsDefinition(p, x.of):
		return fmt.Sprintf("the definition of %v, which the policy does not show", x.of)
	case x.kind == "label" && !labels(x.of, x.label):
		return fmt.Sprintf("labels of the type %v, which the policy does not list", x.of)
	case x.kind == "answers" && !x.ofObjects(p.Local):
		return fmt.Sprintf("column %q of objects in %v, which the policy does not show", x.label, x.of)
	}
	return ""
}

// replaced describes a showing of something else than its name stands for by now; empty if it is of that.
func (x showing) replaced(was *catalog.Schema, now Origins, labels func(of catalog.Name, label string) bool) string {
	if x.kind == "answers" {
		return x.ofOthers(was, now)
	}
	if x.kind == "label" {
		if labels(x.of, x.label) {
			return ""
		}
		const text = "labels of the type %v, which has another name in the real database by now, or whose columns have"
		return fmt.Sprintf(text, x.of)
	}
	t := was.Tables[x.of]
	if t == nil {
		return fmt.Sprintf("%v, which is not in the record of the mirror", x.of)
	}
	became := now.relation(t, x.defines())
	switch {
	case became == "":
		return ""
	case x.defines():
		return fmt.Sprintf("the definition of %v, %s", x.of, became)
	}
	return fmt.Sprintf("rows of %v, %s", x.of, became)
}

// endSessions ends the sessions of analysts if the mirror shows other things than before, or the same of other relations: one may hold
// rows of before, or be of another dpproxy, whose policy does not permit the new things. The record of the mirror is locked by now, so no
// log-in ends before the commit ([RecordedAs]).
//
// It does not wait for the end: a session may have to drop temporary views that this transaction has locked. Once it has the signal it
// returns no row of a later snapshot, since a scan looks for signals before each row.
func endSessions(ctx context.Context, tx pgx.Tx, was confirmation, before []showing, s *catalog.Schema) error {
	now, err := shown(ctx, tx)
	same := func(x, y showing) bool { return x == y && was.has(s.Tables[x.of]) }
	if err != nil || slices.EqualFunc(now, before, same) {
		return err
	}
	_, err = tx.Exec(ctx, `SELECT pg_catalog.pg_terminate_backend(a.pid) FROM pg_catalog.pg_stat_activity a
		JOIN pg_catalog.pg_roles r ON r.oid = a.usesysid
		WHERE a.datid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
			AND a.pid <> pg_catalog.pg_backend_pid() AND NOT pg_catalog.starts_with(r.rolname, $2)
			AND pg_catalog.shobj_description(r.oid, 'pg_authid') = $1`, ddl.Mark, asidePrefix)
	return err
}
