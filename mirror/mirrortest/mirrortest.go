// Package mirrortest has Postgres servers and a schema for tests of package mirror and of
// the packages below it.
package mirrortest

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
)

// Name is that of a relation, in the schema public unless the text names one.
func Name(s string) catalog.Name {
	schema, table, found := strings.Cut(s, ".")
	if !found {
		return catalog.Name{Schema: "public", Name: s}
	}
	return catalog.Name{Schema: schema, Name: table}
}

// Start starts a server for a real database.
func Start(t testing.TB) *pgtemp.Server {
	t.Helper()
	return start(t, pgtemp.Options{})
}

// StartMirror starts a server for a mirror, which may have another version.
func StartMirror(t testing.TB) *pgtemp.Server {
	t.Helper()
	return start(t, pgtemp.Options{Mirror: true})
}

func start(t testing.TB, o pgtemp.Options) *pgtemp.Server {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// older are the words that SQL of these tests leaves out for servers before a version.
var older = []struct {
	before         int
	newer, instead string
}{
	{15, " NULLS NOT DISTINCT", ""},
	{14, "many span_multirange", `many "span"`},
	{14, ", multirange_type_name = spans", ""},
	{14, "many spans", "many span"},
	{14, "rngmultitypid::regtype::text", "''"},
	{14, "rngmultitypid::regtype", "NULL"},
	{14, "ways way_multirange", "ways way"},
	{14, "'{}', '{Ab", "NULL, '{Ab"},
}

// As rewrites SQL for the server of a real database.
func As(t testing.TB, s *pgtemp.Server, sql string) string {
	t.Helper()
	version, err := s.Version()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range older {
		if version < o.before {
			sql = strings.ReplaceAll(sql, o.newer, o.instead)
		}
	}
	return sql
}

// Connect opens a session that ends with the test.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

// Run runs a script.
func Run(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// RunSince runs a script that servers can run from a version on, and reports whether this is one of them. It holds that an earlier
// server cannot: it has no such syntax, no such column of the catalogue, or no row that the last statement would alter.
func RunSince(t testing.TB, conn *pgx.Conn, version int, sql string) bool {
	t.Helper()
	const syntaxError, undefinedColumn = "42601", "42703"
	served := Value(t, conn, "current_setting('server_version_num')::int >= "+strconv.Itoa(version*10000)) == "true"
	done, err := conn.Exec(t.Context(), sql)
	refused, _ := errors.AsType[*pgconn.PgError](err)
	lacks := done.String() == "UPDATE 0" || refused != nil && (refused.Code == syntaxError || refused.Code == undefinedColumn)
	if lacks == served || err != nil && !lacks {
		t.Fatalf("%s: of Postgres %d or newer: %t, and it ended with %q, %v", sql, version, served, done, err)
	}
	return served
}

// Value returns the first column of the first row as text, empty for NULL.
func Value(t testing.TB, conn *pgx.Conn, sql string) string {
	t.Helper()
	var text *string
	if err := conn.QueryRow(t.Context(), "SELECT ("+sql+")::text").Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if text == nil {
		return ""
	}
	return *text
}

//go:embed clinic.sql
var clinic string

// Clinic fills a new database of the server with the tests' schema, and connects to it.
func Clinic(t testing.TB, s *pgtemp.Server) *pgx.Conn {
	t.Helper()
	Run(t, Connect(t, s.URL("postgres", pgtemp.Superuser)), "CREATE DATABASE clinic")
	conn := Connect(t, s.URL("clinic", pgtemp.Superuser))
	Run(t, conn, clinic)
	return conn
}

// Record selects the record of a mirror, of the schema and the policy that it was made for, as a text with the name definition.
const Record = `SELECT convert_from(lo_get(oid), 'UTF8') AS definition FROM pg_largeobject_metadata
	WHERE obj_description(oid, 'pg_largeobject') = 'dpproxy.confirmed'`

// RewriteRecord writes a statement that changes that text to the value of an expression over definition, in place.
func RewriteRecord(expression string) string {
	return fmt.Sprintf(`DO $do$
		DECLARE
			record oid := (SELECT oid FROM pg_largeobject_metadata WHERE obj_description(oid, 'pg_largeobject') = 'dpproxy.confirmed');
			now text := (SELECT %s FROM (%s) AS r);
		BEGIN
			PERFORM lo_truncate(lo_open(record, x'20000'::integer), 0);
			PERFORM lo_put(record, 0, convert_to(now, 'UTF8'));
		END $do$`, expression, Record)
}

// ListRecords is a script that puts the records into tables, in which earlier versions had them.
const ListRecords = `CREATE SCHEMA dpproxy AUTHORIZATION dpproxy_owner;
	CREATE TABLE dpproxy.made (seq bigint GENERATED ALWAYS AS IDENTITY, kind text, name text,
		digest text NOT NULL, remove text NOT NULL, state text NOT NULL, PRIMARY KEY (kind, name));
	ALTER TABLE dpproxy.made OWNER TO dpproxy_owner;
	CREATE TABLE dpproxy.confirmed (definition text NOT NULL);
	ALTER TABLE dpproxy.confirmed OWNER TO dpproxy_owner;
	INSERT INTO dpproxy.made (kind, name, digest, remove, state)
		SELECT m ->> 'Kind', m ->> 'Name', m ->> 'Digest', m ->> 'Drop', m ->> 'State'
		FROM pg_largeobject_metadata, json_array_elements(convert_from(lo_get(oid), 'UTF8')::json) WITH ORDINALITY AS r (m, place)
		WHERE obj_description(oid, 'pg_largeobject') = 'dpproxy.made' ORDER BY place;
	INSERT INTO dpproxy.confirmed ` + Record + `;
	SELECT lo_unlink(oid) FROM pg_largeobject_metadata WHERE obj_description(oid, 'pg_largeobject') LIKE 'dpproxy.%'`
