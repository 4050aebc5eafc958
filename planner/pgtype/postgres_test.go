package pgtype_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
)

// server is a Postgres that the tests of the package ask, started by the first of them.
var server struct {
	*pgtemp.Server
	conn *pgx.Conn
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.Server != nil {
		server.Stop()
	}
	os.Exit(code)
}

// open returns a session of a Postgres.
func open(t *testing.T) *pgx.Conn {
	t.Helper()
	if server.conn != nil {
		return server.conn
	}
	var err error
	if server.Server, err = pgtemp.Start(context.Background(), pgtemp.Options{}); err != nil {
		t.Fatal(err)
	}
	if server.conn, err = pgx.Connect(context.Background(), server.URL("postgres", pgtemp.Superuser)); err != nil {
		t.Fatal(err)
	}
	return server.conn
}

// query returns the rows of a query.
func query[T any](t *testing.T, sql string, args ...any) []T {
	t.Helper()
	rows, err := open(t).Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// tries are how Postgres evaluates texts, each by itself: the first column of a query, or that it
// raises an error of its analysis.
const tries = `CREATE OR REPLACE FUNCTION pg_temp.try(text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text;
BEGIN
	EXECUTE $1 INTO r;
	RETURN r;
EXCEPTION WHEN ambiguous_function OR undefined_function OR datatype_mismatch OR cannot_coerce OR invalid_text_representation THEN
	RETURN 'none';
END $$`

// try returns the answers of Postgres to queries of one text.
func try(t *testing.T, queries []string) []string {
	t.Helper()
	if _, err := open(t).Exec(t.Context(), tries); err != nil {
		t.Fatal(err)
	}
	type answer struct{ Text string }
	var texts []string
	list := query[answer](t, "SELECT pg_temp.try(q) FROM unnest($1::text[]) WITH ORDINALITY AS u(q, n) ORDER BY n", queries)
	for _, a := range list {
		texts = append(texts, a.Text)
	}
	if len(texts) != len(queries) {
		t.Fatalf("%d answers to %d queries", len(texts), len(queries))
	}
	return texts
}

// null writes a value of a type, or of none.
func null(name string) string {
	if name == "" {
		return "NULL"
	}
	return fmt.Sprintf("NULL::%s", name)
}
