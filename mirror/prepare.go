package mirror

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/ddl"
	"dpproxy/mirror/introspect"
)

// prepare makes the session fit and sees to the foundation of all objects, and that the records are where this version keeps them.
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
	for _, o := range ddl.Foundation() {
		if err := ensure(ctx, tx, o, report); err != nil {
			return "", err
		}
	}
	return database, moveRecords(ctx, tx, report)
}

// lockOut lets one Sync at a time make the mirror. An advisory lock could be taken by any
// analyst; nobody but a superuser has a right on this catalogue, and nobody else needs it.
const lockOut = "LOCK TABLE pg_catalog.pg_user_mapping IN SHARE UPDATE EXCLUSIVE MODE"

func ensure(ctx context.Context, tx pgx.Tx, o ddl.Object, report func(string)) error {
	var owner string
	var sound bool
	err := tx.QueryRow(ctx, o.State).Scan(&owner, &sound)
	switch {
	case err == nil && owner == ddl.Owner && sound:
		return nil
	case err == nil:
		return fmt.Errorf("%v exists on the mirror and was not made by dpproxy, or was changed", o.Key)
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	report("create " + o.String())
	_, err = tx.Conn().PgConn().Exec(ctx, o.Create).ReadAll()
	return err
}
