package mirror

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
	"dpproxy/pgerr"
)

// A rule must hold on the mirror: its query finds the things that break it.
type rule struct{ text, query string }

// rules hold for the objects, whichever the analysts can name. $1 are the relations that reach a
// protected one.
var rules = []rule{
	{"the owner of the mirror has powers", `SELECT rolname FROM pg_roles
		WHERE rolname = 'dpproxy_owner' AND (rolsuper OR rolbypassrls OR rolcanlogin) AND $1::oid[] IS NOT NULL`},
	{"a role is a member of the owner of the mirror", `SELECT m.member::regrole::text FROM pg_auth_members m
		WHERE m.roleid = 'dpproxy_owner'::regrole AND $1::oid[] IS NOT NULL`},
	{"not made by dpproxy, but reads a protected relation", `SELECT c.oid::regclass::text FROM pg_class c
		WHERE c.oid = ANY ($1) AND c.relowner <> 'dpproxy_owner'::regrole`},
	{"a SECURITY DEFINER function of a role that row security does not hold for", `SELECT p.oid::regprocedure::text
		FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
		WHERE p.prosecdef AND (r.rolsuper OR r.rolbypassrls) AND $1::oid[] IS NOT NULL
			AND p.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`},
	{"row security is not enabled and forced", `SELECT c.oid::regclass::text FROM pg_class c
		WHERE c.oid = ANY ($1) AND c.relkind IN ('r', 'p') AND NOT (c.relrowsecurity AND c.relforcerowsecurity)`},
}

// verify proves on the mirror as it is that no analyst reads a protected relation, and that
// it has no hidden column.
func verify(ctx context.Context, tx pgx.Tx, p Plan) error {
	reaching, err := reaching(ctx, tx, p)
	if err != nil {
		return err
	}
	if err := unseen(ctx, tx, p); err != nil {
		return err
	}
	for _, r := range rules {
		rows, err := tx.Query(ctx, r.query, reaching)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("self-test: %s: %s", r.text, found[0])
		}
	}
	for _, a := range p.Analysts {
		for _, role := range append(a.aside(), a) {
			if err := attempt(ctx, tx, role, reaching); err != nil {
				return fmt.Errorf("self-test: analyst %s: %w", role.Name, err)
			}
		}
	}
	return nil
}

// attempts are the ways to read a relation that a planner answers differently.
var attempts = []string{
	"SELECT * FROM %s",
	"SELECT FROM %s WHERE false",
	"SELECT FROM %s LIMIT 0",
	"EXPLAIN SELECT FROM %s",
	"SELECT count(*) FROM ONLY %s",
}

// attempt reads each relation as the analyst. The backstop must answer, or, where
// the analyst may not name the relation, Postgres's own refusal.
func attempt(ctx context.Context, tx pgx.Tx, a Analyst, relations []uint32) error {
	for _, oid := range relations {
		var n catalog.Name
		var granted bool
		err := tx.QueryRow(ctx, `SELECT n.nspname, c.relname, has_table_privilege($2, c.oid, 'SELECT')
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1`, oid, a.Name).
			Scan(&n.Schema, &n.Name, &granted)
		if err != nil {
			return err
		}
		for _, statement := range attempts {
			statement = fmt.Sprintf(statement, quote.Name(n))
			state, err := tryAs(ctx, tx, a.Name, statement)
			if err != nil {
				return err
			}
			if state != pgerr.Backstop.String() && (granted || state != pgerr.InsufficientPrivilege.String()) {
				return fmt.Errorf("%s ended with %q and not with %s", statement, state, pgerr.Backstop)
			}
		}
	}
	return nil
}

// tryAs runs a statement as a role and returns the SQLSTATE of its error, or
// "success". It leaves the transaction as it was.
func tryAs(ctx context.Context, tx pgx.Tx, role, statement string) (string, error) {
	conn := tx.Conn().PgConn()
	script := fmt.Sprintf("SAVEPOINT attempt; SET LOCAL SESSION AUTHORIZATION %s; %s", quote.Ident(role), statement)
	_, err := conn.Exec(ctx, script).ReadAll()
	state := "success"
	if err != nil {
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok {
			return "", err
		}
		state = refused.Code
	}
	_, err = conn.Exec(ctx, "ROLLBACK TO attempt; RELEASE attempt").ReadAll()
	return state, err
}
