package mirror

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Rights compare what a role may do in the real database with what dpproxy needs there.
type Rights struct {
	Role string
	// Missing are the statements that grant what the role lacks.
	Missing []string
	// Excess says what the role may do and need not.
	Excess []string
}

// ReadRights returns those of the role that upstream has connected as. A role needs SELECT on the relations of
// the plan, and USAGE of their schemas and of those of the types of their columns. It needs SELECT on each as a whole: reads
// lock it, which a right on columns does not allow. Relations that are not there are left out.
func ReadRights(ctx context.Context, upstream *pgx.Conn, p Plan) (Rights, error) {
	r := Rights{}
	if err := upstream.QueryRow(ctx, "SELECT current_user::text").Scan(&r.Role); err != nil {
		return r, fmt.Errorf("mirror: %w", err)
	}
	var schemas, tables []string
	for _, n := range p.names() {
		schemas, tables = append(schemas, n.Schema), append(tables, n.Name)
	}
	for _, step := range []func(context.Context, *pgx.Conn, []string, []string) error{r.unusable, r.unreadable, r.powers, r.writable} {
		if err := step(ctx, upstream, schemas, tables); err != nil {
			return r, fmt.Errorf("mirror: the rights of %s: %w", r.Role, err)
		}
	}
	return r, nil
}

// wanted are the relations of two lists of their schemas and names.
const wanted = `WITH wanted AS (SELECT c.oid, c.relnamespace, c.relowner, n.nspname, c.relname
	FROM unnest($1::text[], $2::text[]) AS w(s, t) JOIN pg_catalog.pg_namespace n ON n.nspname = w.s
	JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.t) `

// unusable finds the schemas whose names the role cannot use.
func (r *Rights) unusable(ctx context.Context, conn *pgx.Conn, schemas, tables []string) error {
	return collect(ctx, conn, &r.Missing, wanted+`SELECT pg_catalog.format('GRANT USAGE ON SCHEMA %I TO %I;', n.nspname, current_user)
		FROM pg_catalog.pg_namespace n WHERE n.oid IN (
			SELECT relnamespace FROM wanted UNION
			SELECT coalesce(e.typnamespace, t.typnamespace) FROM wanted w
			JOIN pg_catalog.pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0 AND NOT a.attisdropped
			JOIN pg_catalog.pg_type t ON t.oid = a.atttypid LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typlen = -1)
		AND NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE') ORDER BY n.nspname`, schemas, tables)
}

// unreadable finds the relations that the role cannot read.
func (r *Rights) unreadable(ctx context.Context, conn *pgx.Conn, schemas, tables []string) error {
	return collect(ctx, conn, &r.Missing, wanted+`SELECT pg_catalog.format('GRANT SELECT ON %I.%I TO %I;', nspname, relname, current_user)
		FROM wanted WHERE NOT pg_catalog.has_table_privilege(oid, 'SELECT') ORDER BY nspname, relname`, schemas, tables)
}

// powers finds what the role may do everywhere.
func (r *Rights) powers(ctx context.Context, conn *pgx.Conn, _, _ []string) error {
	return collect(ctx, conn, &r.Excess, `SELECT power FROM pg_catalog.pg_roles, LATERAL (VALUES
			(1, rolsuper, 'is a superuser'),
			(2, rolbypassrls AND NOT rolsuper, 'has BYPASSRLS, which only tables under row security need'),
			(3, rolcreaterole AND NOT rolsuper, 'has CREATEROLE'), (4, rolcreatedb AND NOT rolsuper, 'has CREATEDB'),
			(5, rolreplication AND NOT rolsuper, 'has REPLICATION')) AS p(i, has, power)
		WHERE rolname = current_user AND has
		UNION ALL SELECT 'is a member of ' || m.rolname FROM pg_catalog.pg_roles o, pg_catalog.pg_roles m
		WHERE o.rolname = current_user AND NOT o.rolsuper AND pg_catalog.pg_has_role(o.oid, m.oid, 'MEMBER')
			AND m.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_write_all_data')`)
}

// writable finds relations that the role owns or can write.
func (r *Rights) writable(ctx context.Context, conn *pgx.Conn, schemas, tables []string) error {
	return collect(ctx, conn, &r.Excess, wanted+`SELECT CASE
			WHEN pg_catalog.pg_has_role(relowner, 'USAGE') THEN 'owns ' ELSE 'can write to ' END || nspname || '.' || relname
		FROM wanted WHERE NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)
			AND (pg_catalog.pg_has_role(relowner, 'USAGE') OR pg_catalog.has_any_column_privilege(oid, 'INSERT, UPDATE')
				OR pg_catalog.has_table_privilege(oid, 'DELETE, TRUNCATE, TRIGGER')) ORDER BY nspname, relname`, schemas, tables)
}

// collect appends the texts that a query returns.
func collect(ctx context.Context, conn *pgx.Conn, to *[]string, query string, args ...any) error {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	*to = append(*to, texts...)
	return err
}
