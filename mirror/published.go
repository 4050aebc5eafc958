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
	switch m.Kind {
	case ddl.KindRole:
		script, err := r.disowned(ctx, m.Name)
		if err != nil || script == "" {
			return err
		}
		return r.exec(ctx, m.Key, script)
	case ddl.KindType, ddl.KindTable, ddl.KindView, ddl.KindCollation:
		return r.asText(ctx, m)
	default:
		return nil
	}
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

// dependent are the columns that depend on a type, on the type of the rows of a relation, or on a collation, as arrays, ranges, domains and
// attributes of it too: of published tables, and of temporary tables that have rows of these.
const dependent = `WITH RECURSIVE uses AS (
		SELECT d.classid, d.objid, d.objsubid, 1 AS depth FROM pg_depend d
		WHERE (d.refclassid, d.refobjid) IN (
				SELECT 'pg_type'::regclass, t.oid FROM pg_type t JOIN pg_namespace s ON s.oid = t.typnamespace
				WHERE $1 <> 'collation' AND s.nspname || '.' || t.typname = $2
			UNION ALL
				SELECT 'pg_collation'::regclass, l.oid FROM pg_collation l JOIN pg_namespace s ON s.oid = l.collnamespace
				WHERE $1 = 'collation' AND s.nspname || '.' || l.collname = $2)
			AND (d.classid = 'pg_type'::regclass OR d.objsubid > 0)
		UNION
		SELECT d.classid, d.objid, d.objsubid, u.depth + 1
		FROM uses u LEFT JOIN pg_class c ON u.classid = 'pg_class'::regclass AND c.oid = u.objid
			JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass
				AND d.refobjid = CASE WHEN u.classid = 'pg_type'::regclass THEN u.objid ELSE c.reltype END
		WHERE d.classid = 'pg_type'::regclass OR d.objsubid > 0),
	columns AS (
		SELECT c.oid, a.attnum, a.attname, n.nspname = $3 AS kept, max(u.depth) AS depth
		FROM uses u JOIN pg_class c ON u.classid = 'pg_class'::regclass AND c.oid = u.objid AND c.relkind = 'r'
			JOIN pg_namespace n ON n.oid = c.relnamespace
			JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.objsubid
		WHERE n.nspname = $3 OR starts_with(n.nspname, 'pg_temp_')
		GROUP BY 1, 2, 3, 4)`

// inTheWay are scripts that drop all by which the type of the columns cannot change: indexes and keys, and views and functions of sessions.
const inTheWay = dependent + `
	SELECT DISTINCT CASE d.classid
			WHEN 'pg_constraint'::regclass THEN format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', c.oid::regclass, k.conname)
			WHEN 'pg_class'::regclass THEN format('DROP INDEX IF EXISTS %s', i.oid::regclass)
			WHEN 'pg_rewrite'::regclass THEN format('DROP VIEW IF EXISTS %s CASCADE', w.ev_class::regclass)
			ELSE format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure) END
	FROM columns c JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.refobjsubid IN (c.attnum, 0)
		LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid AND k.contype IN ('p', 'u')
		LEFT JOIN pg_class i ON d.classid = 'pg_class'::regclass AND i.oid = d.objid AND i.relkind = 'i'
		LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
		LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	WHERE c.kept AND num_nonnulls(k.oid, i.oid, w.oid, p.oid) > 0`

// asText makes texts of the columns of published tables that depend on an object, and drops temporary tables that hold rows of these. No
// session can hinder it: of a column that cannot become a text, the table keeps the others.
func (r *reconciler) asText(ctx context.Context, m record) error {
	columns, err := r.tx.Query(ctx, dependent+`
		SELECT oid::regclass::text, quote_ident(attname), kept FROM columns ORDER BY depth DESC`, // behind what has its rows
		string(m.Kind), m.Name, ddl.Published)
	if err != nil {
		return err
	}
	type column struct {
		Table, Name string
		Kept        bool
	}
	all, err := pgx.CollectRows(columns, pgx.RowToStructByPos[column])
	if err != nil || !slices.ContainsFunc(all, func(c column) bool { return c.Kept }) {
		return err
	}
	drops, err := selected(ctx, r.tx, inTheWay, string(m.Kind), m.Name, ddl.Published)
	if err != nil {
		return err
	}
	if err := r.exec(ctx, m.Key, strings.Join(drops, ";\n")); err != nil {
		return err
	}
	r.report("make texts of columns of published tables, since " + m.String() + " goes")
	for _, c := range all {
		if c.Kept {
			why, err := r.attempt(ctx, m.Key, fmt.Sprintf(
				`ALTER TABLE %s ALTER COLUMN %s TYPE pg_catalog.text COLLATE pg_catalog."default"`, c.Table, c.Name))
			if err != nil {
				return err
			}
			if why == "" {
				continue
			}
			r.report(fmt.Sprintf("drop the column %s of %s: %s", c.Name, c.Table, why))
		}
		script := "DROP TABLE IF EXISTS " + c.Table + " CASCADE"
		if c.Kept {
			script = fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s CASCADE", c.Table, c.Name)
		}
		if err := r.exec(ctx, m.Key, script); err != nil {
			return err
		}
	}
	return nil
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
		now := readersOf(p.Analysts, asked, t.owner)
		changes := append(access("REVOKE SELECT ON %s FROM %s CASCADE", t.name, of.Readers, now),
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

// readersOf are the analysts but the owner who may ask about all of the tables, by name.
func readersOf(analysts []Analyst, tables []catalog.Name, owner string) []string {
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
