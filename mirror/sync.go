package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// SQLSTATEs of Postgres that say something about the mirror.
const (
	lockNotAvailable = "55P03"
	deadlockDetected = "40P01"
	undefinedTable   = "42P01"
	internalError    = "XX000"
)

// Warning begins what Sync reports of something that the mirror's server cannot have as the
// real one has it: a collation, an index, a type. It is said when the thing is made.
const Warning = "warning: "

// Sync makes the mirror as the plan and the upstream catalogue say, copies the rows
// of public tables, and proves that no protected relation can be read. It reports
// each change. What is as it should be keeps its OID and its rows: a second run writes
// nothing.
//
// A statement on the mirror sees all of it or nothing. (A transaction of REPEATABLE READ
// that is older than Sync can find a public table empty that was made anew, as after any
// DDL of Postgres.) Sync waits a moment for transactions that have a changed relation open,
// and gives up if they do not end.
//
// The connection to the mirror must be a superuser's, for the rights that Sync
// withdraws from PUBLIC; the one to the real database needs SELECT on public tables
// only. All is one transaction: after an error the mirror is as it was. Sync changes
// or drops nothing that it did not make, and fails where such a thing is in its way.
func Sync(ctx context.Context, upstream, mirror *pgx.Conn, plan Plan, report func(change string)) error {
	if err := sync(ctx, upstream, mirror, plan, report); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

func sync(ctx context.Context, upstream, mirror *pgx.Conn, plan Plan, report func(string)) error {
	if err := plan.check(); err != nil {
		return err
	}
	sameServer := OnSameServer(ctx, upstream, mirror)
	from, err := upstream.BeginTx(ctx, introspect.Snapshot)
	if err != nil {
		return err
	}
	defer from.Rollback(ctx)
	schema, err := plan.fit(ctx, from)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		changes, err := try(ctx, from, mirror, plan, schema, sameServer)
		if busy(err) && n < tries {
			continue // the wait for the lock was the pause
		}
		for _, c := range changes {
			report(c)
		}
		if busy(err) {
			return inUse(ctx, mirror, err)
		}
		return err
	}
}

// try makes the mirror in one transaction, and returns what it has changed.
func try(ctx context.Context, from pgx.Tx, mirror *pgx.Conn, plan Plan, schema *catalog.Schema, sameServer bool) ([]string, error) {
	to, err := mirror.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer to.Rollback(ctx)
	var changes []string
	if err := build(ctx, from, to, plan, schema, sameServer, func(c string) { changes = append(changes, c) }); err != nil {
		return nil, err
	}
	if err := to.Commit(ctx); err != nil {
		return nil, err
	}
	return changes, nil
}

// tries is how often Sync tries to get at relations that sessions have open. Each try waits
// for a lock for half of deadlock_timeout, in all 10 s by default: so where a session and
// Sync wait for each other it is never the session that ends in an error.
var tries = 20

// busy reports whether sessions were in the way.
func busy(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == lockNotAvailable || refused.Code == deadlockDetected)
}

// inUse says in our words that sessions were in the way, and which have a transaction open.
func inUse(ctx context.Context, mirror *pgx.Conn, err error) error {
	rows, failed := mirror.Query(ctx, `SELECT format('%s (process %s, since %s)', usename, pid, to_char(xact_start, 'YYYY-MM-DD HH24:MI:SS'))
		FROM pg_catalog.pg_stat_activity WHERE datname = pg_catalog.current_database() AND xact_start IS NOT NULL
			AND pid <> pg_catalog.pg_backend_pid() AND backend_type = 'client backend' ORDER BY xact_start LIMIT 5`)
	if failed != nil {
		return errors.Join(err, failed)
	}
	sessions, failed := pgx.CollectRows(rows, pgx.RowTo[string])
	if failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("a session on the mirror has a transaction open that uses what must change: try again when it has ended, "+
		"or end it with pg_terminate_backend. Transactions are open of %s (%w)", cmp.Or(strings.Join(sessions, ", "), "nobody any more"), err)
}

// build runs the steps on the mirror, the proof last.
func build(ctx context.Context, from, to pgx.Tx, plan Plan, schema *catalog.Schema, sameServer bool, report func(string)) error {
	database, err := prepare(ctx, to, report)
	if err != nil {
		return err
	}
	shown, warnings, err := plan.standIns(ctx, to, plan.visible(schema))
	if err != nil {
		return err
	}
	objects, err := plan.objects(shown, database)
	if err != nil {
		return err
	}
	for i := range objects {
		objects[i].warnings = warnings[objects[i].key]
	}
	if err := harden(ctx, to, sameServer, report); err != nil {
		return err
	}
	// A foreign key can only be made when the rows that it is about are there.
	rows := func() error { return copyRows(ctx, from, to, shown, plan.Public, report) }
	if err := reconcile(ctx, to, objects, rows, report); err != nil {
		return err
	}
	for _, a := range plan.Analysts {
		for _, role := range append(a.aside(), a) {
			if err := keepLogin(ctx, to, database, role, report); err != nil {
				return err
			}
		}
	}
	if err := confirm(ctx, to, plan, schema, report); err != nil {
		return err
	}
	return verify(ctx, to, plan)
}

// prepare makes the session fit and sees to what the record of objects needs: the
// owner, the schema dp and its tables, which only superusers read.
func prepare(ctx context.Context, tx pgx.Tx, report func(string)) (database string, err error) {
	var version int
	var super bool
	err = tx.QueryRow(ctx, `SELECT current_database(), current_setting('server_version_num')::int, rolsuper
		FROM pg_roles WHERE rolname = current_user`).Scan(&database, &version, &super)
	switch {
	case err != nil:
		return "", err
	case checkMirror(version) != nil:
		return "", checkMirror(version)
	case !super:
		return "", errors.New("the connection to the mirror must be a superuser's")
	}
	_, err = tx.Exec(ctx, `SELECT set_config('search_path', '', true), set_config('standard_conforming_strings', 'on', true),
		set_config('client_encoding', 'UTF8', true), set_config('row_security', 'on', true),
		set_config('check_function_bodies', 'on', true),
		set_config('lock_timeout', (SELECT setting::int / 2 FROM pg_settings WHERE name = 'deadlock_timeout')::text, true)`)
	if err != nil {
		return "", err
	}
	if _, err := tx.Exec(ctx, lockOut); err != nil {
		return "", err
	}
	if _, err := tx.Conn().PgConn().Exec(ctx, introspect.PlainText).ReadAll(); err != nil {
		return "", err
	}
	for _, o := range foundation {
		if err := ensure(ctx, tx, o, report); err != nil {
			return "", err
		}
	}
	return database, nil
}

// lockOut lets one Sync at a time make the mirror. An advisory lock could be taken by any
// analyst; nobody but a superuser has a right on this catalogue, and nobody else needs it.
const lockOut = "LOCK TABLE pg_catalog.pg_user_mapping IN SHARE UPDATE EXCLUSIVE MODE"

// foundation is made once and never dropped.
var foundation = []object{
	{
		key:    roleKey(Owner),
		create: fmt.Sprintf("CREATE ROLE %s NOLOGIN %s; COMMENT ON ROLE %s IS '%s'", Owner, noPowers, Owner, mark),
		state:  roleState(Owner, false),
	},
	{
		key:    key{"schema", reserved},
		create: "CREATE SCHEMA dp AUTHORIZATION " + Owner,
		state:  "SELECT nspowner::regrole::text, true FROM pg_namespace WHERE nspname = 'dp'",
	},
	{
		key: key{"table", "dp.made"},
		create: `CREATE TABLE dp.made (seq bigint GENERATED ALWAYS AS IDENTITY, kind text, name text,
			digest text NOT NULL, remove text NOT NULL, state text NOT NULL, PRIMARY KEY (kind, name)); ALTER TABLE dp.made OWNER TO ` + Owner,
		state: "SELECT relowner::regrole::text, relkind = 'r' FROM pg_class WHERE oid = to_regclass('dp.made')",
	},
	{
		key:    key{"table", "dp.confirmed"},
		create: `CREATE TABLE dp.confirmed (definition text NOT NULL); ALTER TABLE dp.confirmed OWNER TO ` + Owner,
		state:  "SELECT relowner::regrole::text, relkind = 'r' FROM pg_class WHERE oid = to_regclass('dp.confirmed')",
	},
}

func ensure(ctx context.Context, tx pgx.Tx, o object, report func(string)) error {
	var owner string
	var sound bool
	err := tx.QueryRow(ctx, o.state).Scan(&owner, &sound)
	switch {
	case err == nil && owner == Owner && sound:
		return nil
	case err == nil:
		return fmt.Errorf("%v exists on the mirror and was not made by dpproxy, or was changed", o.key)
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	report("create " + o.String())
	_, err = tx.Conn().PgConn().Exec(ctx, o.create).ReadAll()
	return err
}
