package mirror

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/ddl"
)

// A TakenError says that a mirror, or a role of its server, is that of another dpproxy. Two that share one would make its
// objects and the passwords of its roles by turns as each wants them, and shut each other's analysts out.
type TakenError struct {
	// Database is that of the other's mirror. Role is set where only a role is shared: roles belong to the whole server.
	Database, Role string
}

// Error implements error.
func (e *TakenError) Error() string {
	const remedy = "give each a mirror on a server of its own; if there is no other any more, dpproxy sync --take-over makes it this one's"
	if e.Role != "" {
		return fmt.Sprintf("the role %q of the mirror's server is in use by another dpproxy, whose mirror is the database %q there "+
			"and whose secret is another: %s, or name the analysts otherwise", e.Role, e.Database, remedy)
	}
	return fmt.Sprintf("the mirror, database %q, is that of another dpproxy, whose secret is another: %s", e.Database, remedy)
}

// CheckSite returns a [TakenError] where the mirror or a role on its server is another dpproxy's: one with another [Plan.Site].
func CheckSite(ctx context.Context, mirror conn, p Plan) error {
	r, err := recordOf(ctx, mirror)
	if err != nil {
		return wrapConfirmed(err)
	}
	if r.Site != "" && r.Site != p.Site {
		taken := &TakenError{}
		if err := mirror.QueryRow(ctx, "SELECT pg_catalog.current_database()").Scan(&taken.Database); err != nil {
			return err
		}
		return taken
	}
	return checkRoles(ctx, mirror, p)
}

// A conn asks the mirror.
type conn interface {
	querier
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// checkRoles looks at roles of the plan that have rights in another database, too: that of another mirror on the server.
// Their passwords tell whose they are.
func checkRoles(ctx context.Context, mirror conn, p Plan) error {
	passwords := map[string]string{}
	var names []string
	for _, a := range p.Analysts {
		for _, role := range append(a.aside(), a) {
			passwords[role.Name], names = role.Password, append(names, role.Name)
		}
	}
	rows, err := mirror.Query(ctx, `SELECT r.rolname, coalesce(r.rolpassword, ''), min(d.datname)
		FROM pg_catalog.pg_authid r
		JOIN pg_catalog.pg_shdepend s ON s.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass AND s.refobjid = r.oid
		JOIN pg_catalog.pg_database d ON d.oid = s.dbid AND d.datname <> pg_catalog.current_database()
		WHERE r.rolname = ANY ($1) AND pg_catalog.shobj_description(r.oid, 'pg_authid') = $2
		GROUP BY 1, 2 ORDER BY 1`, names, ddl.Mark)
	if err != nil {
		return fmt.Errorf("read the roles of the mirror's server: %w", err)
	}
	var taken *TakenError
	var name, stored, database string
	_, err = pgx.ForEachRow(rows, []any{&name, &stored, &database}, func() error {
		if taken == nil && !verifies(stored, passwords[name]) {
			taken = &TakenError{Database: database, Role: name}
		}
		return nil
	})
	if err == nil && taken != nil {
		return taken
	}
	return err
}
