package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
	"dpproxy/mirror/quote"
)

// This file keeps the tables that analysts have published. They are theirs: Sync makes none of them anew, and drops none.

// PublishedSchema is the schema of published tables. PublishingSetting tells the mirror of a table that is made there, and Publisher owns
// those of analysts who are gone (package ddl).
const (
	PublishedSchema   = ddl.Published
	PublishingSetting = ddl.Publishing
	Publisher         = ddl.Publisher
)

// A Publication is the comment of the type of a published table, in JSON.
type Publication struct {
	// Record tells all about the result, for dpproxy alone.
	Record string `json:"record"`
	// Readers are the analysts to whom dpproxy gave SELECT, since they may ask about all tables of the statement. The owner may have
	// given it to others.
	Readers []string `json:"readers"`
}

// publishes reports whether the mirror has the schema for published tables: analysts may publish, or have published.
func publishes(ctx context.Context, tx pgx.Tx, p Plan) (yes bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relkind = 'r')
		AND EXISTS (SELECT FROM pg_event_trigger t JOIN pg_proc p ON p.oid = t.evtfoid
			WHERE p.oid = to_regproc('dp.keep_published'))`, ddl.Published).Scan(&yes)
	yes = yes || slices.ContainsFunc(p.Analysts, func(a Analyst) bool { return a.Publishes })
	if err != nil || !yes {
		return yes, err
	}
	for _, n := range p.names() {
		if n.Schema == ddl.Published {
			return yes, fmt.Errorf("table %v: the schema %s is that of the tables that analysts publish: let nobody publish, "+
				"and drop these tables", n, ddl.Published)
		}
	}
	return yes, nil
}

// proveUncoded refuses objects in the schema of published tables that could run code of their owners.
func proveUncoded(ctx context.Context, tx pgx.Tx) error {
	found, err := selected(ctx, tx, "SELECT * FROM ("+ddl.PublishedFaults+") AS f WHERE to_regproc('dp.keep_published') IS NOT NULL")
	if err != nil || len(found) == 0 {
		return err
	}
	return &UnsafeError{fmt.Sprintf("self-test: the schema %s has more than tables: %s", ddl.Published, strings.Join(found, ", "))}
}

// spare keeps published tables when an object that they need is about to be dropped: a column that depends on it becomes
// text, and a table of its role goes to a role that nobody has.
func (r *reconciler) spare(ctx context.Context, m record) error {
	var script string
	var err error
	switch m.Kind {
	case ddl.KindRole:
		script, err = r.disowned(ctx, m.Name)
	case ddl.KindType, ddl.KindTable, ddl.KindView, ddl.KindCollation:
		script, err = r.asText(ctx, m)
	default:
		return nil
	}
	if err != nil || script == "" {
		return err
	}
	return r.exec(ctx, m.Key, script)
}

// disowned is the script by which the published tables of a role get another owner.
func (r *reconciler) disowned(ctx context.Context, role string) (string, error) {
	tables, err := selected(ctx, r.tx, `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_roles r ON r.oid = c.relowner WHERE n.nspname = $1 AND c.relkind = 'r' AND r.rolname = $2`, ddl.Published, role)
	if err != nil || len(tables) == 0 {
		return "", err
	}
	there, err := selected(ctx, r.tx, `SELECT rolname::text FROM pg_roles WHERE rolname = $1`, ddl.Publisher)
	if err != nil {
		return "", err
	}
	var script strings.Builder
	if len(there) == 0 {
		fmt.Fprintf(&script, "CREATE ROLE %s;\n", ddl.Publisher)
	}
	for _, t := range tables {
		fmt.Fprintf(&script, "ALTER TABLE %s OWNER TO %s;\n", t, ddl.Publisher)
		r.report("keep the table " + t + " of " + role)
	}
	return script.String(), nil
}

// asText is the script that makes texts of the columns of published tables that depend on an object: on a type, as an array of it too, on
// the type of the rows of a relation, or on a collation.
func (r *reconciler) asText(ctx context.Context, m record) (string, error) {
	const types = `'pg_type'::regclass AND d.refobjid IN (SELECT unnest(ARRAY[t.oid, t.typarray]) FROM pg_type t
		JOIN pg_namespace s ON s.oid = t.typnamespace WHERE s.nspname || '.' || t.typname = $1)`
	const collations = `'pg_collation'::regclass AND d.refobjid IN (SELECT l.oid FROM pg_collation l
		JOIN pg_namespace s ON s.oid = l.collnamespace WHERE s.nspname || '.' || l.collname = $1)`
	of := types
	if m.Kind == ddl.KindCollation {
		of = collations
	}
	columns, err := selected(ctx, r.tx, `SELECT format('ALTER TABLE %s ALTER COLUMN %I TYPE pg_catalog.text COLLATE pg_catalog."default"',
			c.oid::regclass, a.attname)
		FROM pg_depend d JOIN pg_class c ON c.oid = d.objid JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
		WHERE d.classid = 'pg_class'::regclass AND c.relkind = 'r' AND n.nspname = $2 AND d.refclassid = `+of, m.Name, ddl.Published)
	if err != nil || len(columns) == 0 {
		return "", err
	}
	r.report("make texts of columns of published tables, since " + m.String() + " goes")
	return strings.Join(columns, ";\n"), nil
}

// keepReaders gives SELECT on each published table to the analysts who may ask about all tables of its statement by now, and takes it from
// those who had it for that and no longer may. It leaves alone whom the owner gave it.
func keepReaders(ctx context.Context, tx pgx.Tx, p Plan, report func(string)) error {
	rows, err := tx.Query(ctx, `SELECT c.oid::regclass::text, o.rolname::text, coalesce(obj_description(c.reltype, 'pg_type'), '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
		WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY 1`, ddl.Published)
	if err != nil {
		return err
	}
	type table struct{ name, owner, comment string }
	tables, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t table, err error) {
		err = row.Scan(&t.name, &t.owner, &t.comment)
		return t, err
	})
	if err != nil {
		return err
	}
	for _, t := range tables {
		var of Publication
		if json.Unmarshal([]byte(t.comment), &of) != nil || p.Published == nil {
			continue // a table that no statement over protected rows made
		}
		asked := p.Published(of.Record)
		if len(asked) == 0 {
			continue
		}
		now := Readers(p.Analysts, asked, t.owner)
		changes := append(access("REVOKE SELECT ON %s FROM %s", t.name, of.Readers, now),
			access("GRANT SELECT ON %s TO %s", t.name, now, of.Readers)...)
		if len(changes) == 0 {
			continue
		}
		of.Readers = now
		text, err := json.Marshal(of)
		if err != nil {
			return err
		}
		changes = append(changes, "COMMENT ON TYPE "+t.name+" IS "+quote.Literal(string(text)))
		report("let " + strings.Join(append([]string{t.owner}, now...), ", ") + " read " + t.name)
		if _, err := tx.Conn().PgConn().Exec(ctx, strings.Join(changes, ";\n")).ReadAll(); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

// access are changes for the roles of a list that another one lacks, and that are there.
func access(change, table string, roles, but []string) (changes []string) {
	for _, role := range roles {
		if slices.Contains(but, role) {
			continue
		}
		changes = append(changes, fmt.Sprintf("DO %s", quote.Literal(fmt.Sprintf(
			"BEGIN IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = %s) THEN %s; END IF; END",
			quote.Literal(role), fmt.Sprintf(change, table, quote.Ident(role))))))
	}
	return changes
}

// Readers are the analysts but the owner who may ask about all of the tables, by name.
func Readers(analysts []Analyst, tables []catalog.Name, owner string) []string {
	readers := []string{}
	for _, a := range analysts {
		lacks := slices.ContainsFunc(tables, func(n catalog.Name) bool { return !slices.Contains(a.Tables, n) })
		if a.Name != owner && !lacks {
			readers = append(readers, a.Name)
		}
	}
	slices.Sort(readers)
	return readers
}

// selected returns the texts that a query selects.
func selected(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]string, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
