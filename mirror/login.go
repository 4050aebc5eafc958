package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/mirror/quote"
)

// A login is an analyst's role as the server has stored it.
type login struct {
	verifier string
	limit    int
	settings []string // name=value, sorted
	// everywhere says that the role has settings for all databases.
	everywhere bool
}

// storedLogin reads an analyst's role, with its settings in a database; empty: the present one.
func storedLogin(ctx context.Context, q querier, database string, a Analyst) (has login, err error) {
	err = q.QueryRow(ctx, `SELECT coalesce(r.rolpassword, ''), r.rolconnlimit,
		coalesce((SELECT array_agg(s ORDER BY s COLLATE "C") FROM pg_catalog.pg_db_role_setting d, unnest(d.setconfig) s
			WHERE d.setrole = r.oid AND d.setdatabase = (SELECT oid FROM pg_catalog.pg_database
				WHERE datname = coalesce(nullif($2, ''), pg_catalog.current_database()))), '{}'),
		EXISTS (SELECT FROM pg_catalog.pg_db_role_setting d WHERE d.setrole = r.oid AND d.setdatabase = 0)
		FROM pg_catalog.pg_authid r WHERE r.rolname = $1`, a.Name, database).Scan(&has.verifier, &has.limit, &has.settings, &has.everywhere)
	if err != nil {
		return has, fmt.Errorf("role %s: %w", a.Name, err)
	}
	return has, nil
}

// keepLogin sets password, connection limit and settings where they differ. Postgres lets
// every role change its own password and settings, also where no text shows it.
func keepLogin(ctx context.Context, tx pgx.Tx, database string, a Analyst, report func(string)) error {
	has, err := storedLogin(ctx, tx, database, a)
	if err != nil {
		return err
	}
	changes, err := a.changes(has, database)
	if err != nil || len(changes) == 0 {
		return err
	}
	report("alter role " + a.Name)
	if _, err := tx.Conn().PgConn().Exec(ctx, strings.Join(changes, ";\n")).ReadAll(); err != nil {
		return fmt.Errorf("role %s: %w", a.Name, err)
	}
	return nil
}

// changes are the statements that put the role right.
func (a Analyst) changes(has login, database string) ([]string, error) {
	role := "ALTER ROLE " + quote.Ident(a.Name)
	var changes []string
	if !verifies(has.verifier, a.Password) {
		verifier, err := newVerifier(a.Password)
		if err != nil {
			return nil, err
		}
		changes = append(changes, role+" PASSWORD "+quote.Literal(verifier))
	}
	limit := a.ConnectionLimit
	if limit == 0 {
		limit = -1
	}
	if has.limit != limit {
		changes = append(changes, fmt.Sprintf("%s CONNECTION LIMIT %d", role, limit))
	}
	if has.everywhere {
		changes = append(changes, role+" RESET ALL")
	}
	role += " IN DATABASE " + quote.Ident(database)
	if want := a.settings(); !slices.Equal(has.settings, want) {
		changes = append(changes, role+" RESET ALL")
		for _, name := range slices.Sorted(maps.Keys(a.Settings)) {
			changes = append(changes, fmt.Sprintf("%s SET %s = %s", role, name, quote.Literal(a.Settings[name])))
		}
	}
	return changes, nil
}

// KeepLogin gives the role of an analyst the password and the settings that [Sync] gave it,
// if it has changed them since, and reports whether it had. A session of the role that keeps
// such a change of its own in an open transaction is ended.
//
// The connection must be a superuser's.
func KeepLogin(ctx context.Context, mirror *pgx.Conn, a Analyst) (changed bool, err error) {
	if has, err := storedLogin(ctx, mirror, "", a); err == nil {
		if changes, err := a.changes(has, ""); err == nil && len(changes) == 0 {
			return false, nil // as mostly, in one round trip
		}
	}
	for n := 1; ; n++ {
		err = pgx.BeginFunc(ctx, mirror, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '200ms'"); err != nil {
				return err
			}
			var database string
			if err := tx.QueryRow(ctx, "SELECT pg_catalog.current_database()").Scan(&database); err != nil {
				return err
			}
			return keepLogin(ctx, tx, database, a, func(string) { changed = true })
		})
		if n == keepTries || !contended(err) {
			break
		}
		_, failed := mirror.Exec(ctx, `SELECT pg_catalog.pg_terminate_backend(a.pid, 1000) FROM pg_catalog.pg_stat_activity a `+
			`JOIN pg_catalog.pg_locks l ON l.pid = a.pid
			WHERE a.usename = $1 AND l.granted AND l.mode = 'RowExclusiveLock'
				AND l.relation IN ('pg_catalog.pg_authid'::regclass, 'pg_catalog.pg_db_role_setting'::regclass)`, a.Name)
		if failed != nil {
			return changed, fmt.Errorf("mirror: %w", errors.Join(err, failed))
		}
	}
	if err != nil {
		return changed, fmt.Errorf("mirror: %w", err)
	}
	return changed, nil
}

// keepTries is how often KeepLogin tries.
const keepTries = 5

// contended reports whether another session changes the role.
func contended(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return busy(err) || ok && refused.Code == internalError // tuple concurrently updated
}

const internalError = "XX000"

func (a Analyst) settings() []string {
	list := []string{}
	for name, value := range a.Settings {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}
