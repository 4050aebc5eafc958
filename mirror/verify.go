package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
	"dpproxy/pgerr"
)

// A rule must hold on the mirror: its query finds the things that break it.
type rule struct{ text, query string }

// rules hold for the objects, whichever the analysts can name. $1 are the relations that nobody may
// read.
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
}

// Prove proves on the mirror as it is that analysts read nothing there that the plan does not permit: the proof that ends [Sync],
// without the hidden columns, for which single tables are refused ([Plan.OtherForms]). Was is the schema that the mirror was made
// from, and now that as it is. It returns an [UnsafeError] if there is something. The connection must be a superuser's.
func Prove(ctx context.Context, mirror *pgx.Conn, p Plan, was *catalog.Schema, now Origins) error {
	return proving(ctx, mirror, func(tx pgx.Tx) error { return proveUnread(ctx, tx, p, was, now) })
}

// ProveShown is the part of [Prove] that the catalogue of the mirror tells, for frequent looks.
func ProveShown(ctx context.Context, mirror *pgx.Conn, p Plan, was *catalog.Schema, now Origins) error {
	return proving(ctx, mirror, func(tx pgx.Tx) error { return refuseShown(ctx, tx, p, was, now) })
}

// proving has a proof run in a transaction that changes nothing.
func proving(ctx context.Context, mirror *pgx.Conn, proof func(tx pgx.Tx) error) error {
	tx, err := mirror.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	defer tx.Rollback(ctx)
	_, err = tx.Exec(ctx, "SELECT pg_catalog.set_config('search_path', '', true), pg_catalog.set_config('row_security', 'on', true)")
	if err == nil {
		err = proof(tx)
	}
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// verify is the proof that ends Sync: no analyst reads anything that the plan does not permit, and there is no hidden column.
//
// The names stand for the relations that the mirror was made from: locks on those are held. Of former partitions now has the names.
func verify(ctx context.Context, tx pgx.Tx, p Plan, s *catalog.Schema, now Origins) error {
	if err := unseen(ctx, tx, p, s); err != nil {
		return err
	}
	return proveUnread(ctx, tx, p, s, now)
}

// proveUnread holds each relation that may not be read against the rules, and has each analyst attempt to read it.
func proveUnread(ctx context.Context, tx pgx.Tx, p Plan, was *catalog.Schema, now Origins) error {
	reaching, err := reaching(ctx, tx, p)
	if err != nil {
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
			return &UnsafeError{fmt.Sprintf("self-test: %s: %s", r.text, found[0])}
		}
	}
	if err := proveUncoded(ctx, tx); err != nil {
		return err
	}
	if err := refuseShown(ctx, tx, p, was, now); err != nil {
		return err
	}
	var roles []string
	for _, a := range p.Analysts {
		for _, role := range append(a.aside(), a) {
			roles = append(roles, role.Name)
		}
	}
	rows, err := tx.Query(ctx, "SELECT rolname FROM pg_roles WHERE rolname = ANY ($1) ORDER BY 1", roles) // who is new has no role yet
	if err != nil {
		return err
	}
	if roles, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return err
	}
	for some := range slices.Chunk(roles, rolesAtOnce) {
		if err := attempt(ctx, tx, p, some, reaching); err != nil {
			return err
		}
	}
	return nil
}

// rolesAtOnce is how many roles attempt to read in one round trip.
const rolesAtOnce = 200

// ofNoRow ends the attempt that asks for no row. The planner leaves the query of a view with groups out then: no answer hangs on it. So
// it is not made on views whose definition is shown, which have the queries of the real database.
const ofNoRow = " WHERE false"

// attempts are the ways to read a relation that a planner answers differently.
var attempts = []string{
	"SELECT * FROM %s",
	"SELECT FROM %s" + ofNoRow,
	"SELECT FROM %s LIMIT 0",
	"EXPLAIN SELECT FROM %s",
	"SELECT count(*) FROM ONLY %s",
}

// attempt reads each relation as each of the roles. The backstop must answer, or, where
// the role may not name the relation, Postgres's own refusal. It leaves the transaction as it was.
func attempt(ctx context.Context, tx pgx.Tx, p Plan, roles []string, relations []uint32) error {
	names, err := namesOf(ctx, tx, relations)
	if err != nil || len(names) == 0 {
		return err
	}
	var oids, statements []string
	for i, n := range names {
		oids = append(oids, strconv.FormatUint(uint64(relations[i]), 10))
		for _, a := range attempts {
			if strings.HasSuffix(a, ofNoRow) && showsDefinition(p, n) {
				a = attempts[0]
			}
			statements = append(statements, fmt.Sprintf(a, quote.Name(n)))
		}
	}
	list := func(texts []string, as string) string {
		quoted := make([]string, len(texts))
		for i, t := range texts {
			quoted[i] = quote.Literal(t)
		}
		return "ARRAY[" + strings.Join(quoted, ", ") + "]::" + as + "[]"
	}
	script := fmt.Sprintf(attemptSQL, list(roles, "text"), list(oids, "oid"), list(statements, "text"),
		quote.Literal(pgerr.Backstop.String()), quote.Literal(pgerr.InsufficientPrivilege.String()), len(attempts))
	_, err = tx.Conn().PgConn().Exec(ctx, "SAVEPOINT attempt; DO "+quote.Literal(script)).ReadAll()
	if _, undone := tx.Conn().PgConn().Exec(ctx, "ROLLBACK TO attempt; RELEASE attempt").ReadAll(); undone != nil {
		return errors.Join(err, undone)
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == raised {
		return &UnsafeError{"self-test: " + refused.Message}
	}
	return err
}

// raised is the SQLSTATE of RAISE EXCEPTION.
const raised = "P0001"

// attemptSQL is done for all roles by the server: one by one it would be hundreds of thousands of round trips for some
// thousand analysts. The handler of an exception undoes the change of the role, too.
//
// The ways to read differ for the planner, and roles by their rights: so each role goes the first way, and all ways are gone
// by one role that may name the relation and by one that may not.
const attemptSQL = `DECLARE
	roles text[] := %[1]s; relations oid[] := %[2]s; statements text[] := %[3]s;
	role text; state text; granted boolean; gone text[] := '{}';
BEGIN
	FOREACH role IN ARRAY roles LOOP
		FOR i IN 1 .. array_length(statements, 1) LOOP
			IF i %% %[6]d = 1 THEN
				granted := has_table_privilege(role, relations[1 + (i - 1) / %[6]d], 'SELECT');
			ELSIF format('%%s %%s', i, granted) = ANY (gone) THEN
				CONTINUE;
			ELSE
				gone := gone || format('%%s %%s', i, granted);
			END IF;
			state := NULL;
			BEGIN
				EXECUTE format('SET LOCAL SESSION AUTHORIZATION %%I', role);
				EXECUTE statements[i];
				state := 'success';
				RAISE EXCEPTION USING MESSAGE = 'undo';
			EXCEPTION WHEN OTHERS THEN
				state := coalesce(state, SQLSTATE);
			END;
			IF state <> %[4]s AND (state <> %[5]s OR granted) THEN
				RAISE EXCEPTION 'analyst %%: %% ended with "%%" and not with %%', role, statements[i], state, %[4]s;
			END IF;
		END LOOP;
	END LOOP;
END`

// namesOf returns the names of relations.
func namesOf(ctx context.Context, tx pgx.Tx, relations []uint32) ([]catalog.Name, error) {
	rows, err := tx.Query(ctx, `SELECT n.nspname, c.relname FROM unnest($1::oid[]) WITH ORDINALITY AS r (oid, place)
		JOIN pg_class c ON c.oid = r.oid JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY r.place`, relations)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowToStructByPos[catalog.Name])
	if err == nil && len(names) != len(relations) {
		err = errors.New("a relation is gone")
	}
	return names, err
}
