package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/quote"
)

// LocalSchema is the schema of the answers of local tables.
const LocalSchema = "local"

// A LocalTable is a table of answers on the mirror. Analysts read it as any other.
type LocalTable struct {
	Name    string
	Columns []LocalColumn // the key is the first
	// Of is the table of the real database whose objects have answered, as [Local.Noted] returns it.
	Of *catalog.Table
	// State names the surveys that the table shows: it is the end of the comment, behind a text for people and the table.
	State string
	// Readers are the analysts who may read it.
	Readers []string
}

// A LocalColumn is a column of such a table, of one of Postgres's own types.
type LocalColumn struct{ Name, Type, Comment string }

// LossColumns are those of a table of answers that say what an object has lost, and may lose.
var LossColumns = []string{"loss", "remaining"}

// localPatience is how long a table of answers waits for transactions that have the one before open.
const localPatience = "2s"

// ofAnswers begins the comment of a table of answers.
const ofAnswers = "answers of objects, each with noise of its own;"

// stateMark begins the state in the comment of a table, and ofMark the table that the objects are of.
const (
	stateMark = "state "
	ofMark    = " of "
)

// LocalState returns the state of the table of answers of that name as the mirror shows it, empty if there is no such table.
func LocalState(ctx context.Context, mirror *pgx.Conn, name string) (state string, err error) {
	var comment *string
	err = mirror.QueryRow(ctx, "SELECT pg_catalog.obj_description(pg_catalog.to_regclass($1), 'pg_class')",
		LocalName(name)).Scan(&comment)
	if err != nil || comment == nil {
		return "", err
	}
	state, _ = stateOf(*comment)
	return state, nil
}

// stateOf returns the state of a comment, and the table that the objects are of: empty in comments of earlier versions.
func stateOf(comment string) (state, of string) {
	_, rest, _ := strings.Cut(comment, stateMark)
	state, of, _ = strings.Cut(rest, ofMark)
	return state, of
}

// LocalName writes the name of a table of answers.
func LocalName(name string) string { return quote.Name(catalog.Name{Schema: LocalSchema, Name: name}) }

// ShowLocal puts a table of answers in the place of the one of that name. Rows writes its rows in the text format of COPY. A reader
// sees the table of before meanwhile. A transaction that has read that one must end first: ShowLocal waits a moment for it, and
// then [InUse] is true of its error. A table that the last [Sync] has not made the mirror for ends in [ErrMadeForAnother].
//
// The connection must be a superuser's.
func ShowLocal(ctx context.Context, mirror *pgx.Conn, t LocalTable, rows func(io.Writer) error) error {
	err := pgx.BeginFunc(ctx, mirror, func(tx pgx.Tx) error {
		for _, sql := range []string{"SET LOCAL lock_timeout = '" + localPatience + "'", lockOut, introspect.PlainText} {
			if _, err := tx.Conn().PgConn().Exec(ctx, sql).ReadAll(); err != nil {
				return err
			}
		}
		if err := permitAnswers(ctx, tx, t); err != nil {
			return err
		}
		next := t
		next.Name = nextName(suffixed(t.Name, keySuffix))
		if err := next.make(ctx, tx, rows); err != nil {
			return err
		}
		script := fmt.Sprintf("DROP TABLE IF EXISTS %[1]s CASCADE;\nALTER TABLE %[2]s RENAME TO %[3]s;\n"+
			"ALTER TABLE %[1]s RENAME CONSTRAINT %[4]s TO %[5]s",
			LocalName(t.Name), LocalName(next.Name), quote.Ident(t.Name), quote.Ident(suffixed(next.Name, keySuffix)),
			quote.Ident(suffixed(t.Name, keySuffix)))
		_, err := tx.Conn().PgConn().Exec(ctx, script).ReadAll()
		return err
	})
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	return nil
}

// keySuffix is behind the name of a table in that of its key.
const keySuffix = "_key"

// nextName is the name of a table until it is complete; no policy has it, since it has a quote.
func nextName(name string) string { return suffixed(name, `"`) }

// suffixed is a name with more behind it, as long as Postgres allows.
func suffixed(name, suffix string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxName-len(suffix))], "") + suffix
}

// make makes the table, with its rows and rights.
func (t LocalTable) make(ctx context.Context, tx pgx.Tx, rows func(io.Writer) error) error {
	name := LocalName(t.Name)
	columns := make([]string, len(t.Columns))
	names := make([]string, len(t.Columns))
	var comments strings.Builder
	for i, c := range t.Columns {
		names[i], columns[i] = c.Name, quote.Ident(c.Name)+" "+c.Type
		if c.Comment != "" {
			fmt.Fprintf(&comments, "COMMENT ON COLUMN %s.%s IS %s;\n", name, quote.Ident(c.Name), quote.Literal(c.Comment))
		}
	}
	script := fmt.Sprintf(`CREATE SCHEMA IF NOT EXISTS %[1]s AUTHORIZATION %[2]s;
DROP TABLE IF EXISTS %[3]s;
CREATE TABLE %[3]s (%[4]s);
ALTER TABLE %[3]s OWNER TO %[2]s;
COMMENT ON TABLE %[3]s IS %[5]s;
%[6]s`, LocalSchema, ddl.Owner, name, strings.Join(columns, ", "),
		quote.Literal(ofAnswers+" read them as they are; "+stateMark+t.State+ofMark+t.Of.Name.String()), comments.String())
	if _, err := tx.Conn().PgConn().Exec(ctx, script).ReadAll(); err != nil {
		return err
	}
	pipe, feed := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := rows(feed)
		feed.CloseWithError(err)
		sent <- err
	}()
	_, err := tx.Conn().PgConn().CopyFrom(ctx, pipe, fmt.Sprintf("COPY %s (%s) FROM STDIN", name, quote.Idents(names)))
	pipe.CloseWithError(err)
	if err := errors.Join(<-sent, err); err != nil {
		return err
	}
	script = fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s PRIMARY KEY (%s);\nANALYZE %s;\n", name,
		quote.Ident(suffixed(t.Name, keySuffix)), quote.Ident(t.Columns[0].Name), name)
	var roles []string
	rowsOf, err := tx.Query(ctx, "SELECT rolname FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) ANY ($1)", t.Readers)
	if err != nil {
		return err
	}
	if roles, err = pgx.CollectRows(rowsOf, pgx.RowTo[string]); err != nil {
		return err
	}
	slices.Sort(roles)
	for _, role := range roles {
		script += fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;\nGRANT SELECT ON %s TO %s;\n", LocalSchema, quote.Ident(role), name,
			quote.Ident(role))
	}
	_, err = tx.Conn().PgConn().Exec(ctx, script).ReadAll()
	return err
}

// InUse reports whether a transaction that has the table of answers open was in the way.
func InUse(err error) bool { return busy(err) }
