package introspect

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// A Survey is what the catalogue says of a whole database, for somebody who has no policy yet. It
// holds no row, and none of what Postgres has counted of rows.
type Survey struct {
	*catalog.Schema
	// Unreadable are the relations that the role may not SELECT from; the schema lacks them.
	Unreadable []catalog.Name
}

// ReadSurvey reads the catalogue of all tables and views that were made by users. A partition is part
// of its table, and what belongs to an extension is no user's.
func ReadSurvey(ctx context.Context, conn *pgx.Conn) (*Survey, error) {
	tx, err := conn.BeginTx(ctx, Snapshot)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback(ctx)
	s := &Survey{}
	of := Relations{}
	if err := s.relations(ctx, tx, &of); err != nil {
		return nil, err
	}
	s.Schema, err = Read(ctx, tx, of)
	return s, err
}

func (s *Survey) relations(ctx context.Context, tx pgx.Tx, of *Relations) error {
	return userRelations(ctx, tx, func(n catalog.Name, view, readable bool) {
		switch {
		case !readable:
			s.Unreadable = append(s.Unreadable, n)
			return
		case view:
			of.Views = append(of.Views, n)
		}
		of.Names = append(of.Names, n)
	})
}

// Readable returns the tables and views that were made by users and that the role may SELECT from, in the order of their names.
func Readable(ctx context.Context, conn *pgx.Conn) (names []catalog.Name, err error) {
	err = userRelations(ctx, conn, func(n catalog.Name, _, readable bool) {
		if readable {
			names = append(names, n)
		}
	})
	return names, err
}

// userRelations lists all tables and views that were made by users.
func userRelations(ctx context.Context, db querier, each func(n catalog.Name, view, readable bool)) error {
	rows, err := db.Query(ctx, `
		SELECT n.nspname, c.relname, c.relkind = 'v',
			pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't' AND NOT c.relispartition
			AND n.nspname NOT IN ('information_schema', 'dp') AND n.nspname !~ '^pg_'
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
				AND d.objid = c.oid AND d.deptype = 'e')
		ORDER BY 1, 2`)
	if err != nil {
		return err
	}
	var n catalog.Name
	var view, readable bool
	_, err = pgx.ForEachRow(rows, []any{&n.Schema, &n.Name, &view, &readable}, func() error {
		each(n, view, readable)
		return nil
	})
	return err
}

// A querier is a connection, or a transaction of one.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}
