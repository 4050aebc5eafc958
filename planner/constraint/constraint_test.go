package constraint_test

import (
	"context"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/constraint"
	"dpproxy/planner/scalar"
)

// candidates are values of each type that rows are tried with.
var candidates = map[string][]string{
	"int":          {"-2147483648", "-1", "0", "1", "2", "3", "4", "5", "9", "10", "11", "100", "101", "2147483647"},
	"numeric":      {"-Infinity", "-1", "-0.0001", "0", "0.5", "1", "9.99", "10", "10.0001", "99.9999", "100", "100.5", "1e30", "NaN"},
	"numeric(6,2)": {"-9999", "-0.01", "0", "0.01", "9.99", "10", "99.99", "100", "9999", "NaN"},
	"float8": {
		"-Infinity", "-1e300", "-1e-300", "0", "1e-300",
		"0.10000000149011612", "10", "100", "100.00000001", "9007199254740996", "Infinity", "NaN",
	},
	"text":        {"", " ", "f", "f ", "m", "F", "x", "?", "f?m", "fm"},
	"varchar(3)":  {"", "f", "f ", "m", "fm", "x"},
	"char(3)":     {"", "f", "m", "x", "fm"},
	"date":        {"-infinity", "1999-12-31", "2019-12-31", "2020-01-01", "2020-06-01", "2020-12-31", "2021-01-01", "infinity"},
	"timestamp":   {"-infinity", "2019-12-31 23:59:59.999999", "2020-01-01", "2020-12-31 23:59:59.999999", "2021-01-01", "infinity"},
	"timestamptz": {"-infinity", "2019-12-31 23:59:59.999999+00", "2020-01-01+00", "2020-12-31 23:59:59.999999+00", "2021-01-01+00"},
	"bool":        {"false", "true"},
	"mood":        {"sad", "ok", "happy"},
}

// claims are CHECK constraints with declared values, or declared bounds, and whether they admit nothing else.
var claims = []struct {
	typ, check string
	only       string // declared values, with blanks between
	low, high  string // declared bounds
	proved     bool
}{
	{"int", "x IN (1, 2)", "1 2", "", "", true},
	{"int", "x IN (1, 2)", "2 1 3", "", "", true},
	{"int", "x IN (1, 2, 3)", "1 2", "", "", false},
	{"int", "x BETWEEN 1 AND 4", "1 2 3 4", "", "", true},
	{"int", "x BETWEEN 1 AND 4", "1 2 4", "", "", false},
	{"int", "x > 0 AND x < 5", "1 2 3 4", "", "", true},
	{"int", "0 < x AND 5 > x", "1 2 3 4", "", "", true},
	{"int", "x > 0", "1 2 3 4", "", "", false},
	{"int", "NOT (x < 1 OR x > 4)", "1 2 3 4", "", "", true},
	{"int", "x >= 0 AND x <= 100", "", "0", "100", true},
	{"int", "x >= 0 AND x < 101", "", "0", "100", true},
	{"int", "x >= 0 AND x < 101.5", "", "0", "100", false},
	{"int", "x >= 0 AND x < 100.5", "", "0", "100", true},
	{"int", "x >= 0 AND x <= 101", "", "0", "100", false},
	{"int", "x <> 5 AND x BETWEEN 4 AND 6", "4 6", "", "", true},
	{"int", "x = 1 OR x = 2 OR x IS NULL", "1 2", "", "", true},
	{"int", "x = 1 OR x % 2 = 0", "1 2", "", "", false},
	{"int", "abs(x) < 3", "", "-2", "2", false},
	{"int", "x::bigint <= 10 AND x::numeric >= 0", "", "0", "10", true},
	{"int", "x::smallint = 1", "1", "", "", true},
	{"int", "x <= 10.7::int AND x >= 0", "", "0", "10", false},
	{"numeric", "x >= 0 AND x <= 100", "", "0", "100", true},
	{"numeric", "x >= 0 AND x < 100", "", "0", "99.99", false},
	{"numeric(6,2)", "x >= 0 AND x < 100", "", "0", "99.99", true},
	{"numeric(6,2)", "x >= 0 AND x < 100", "", "0.01", "99.99", false},
	{"numeric", "x >= 0 AND x <> 'NaN'", "", "0", "100", false},
	{"numeric", "x <= 100", "", "0", "100", false},
	{"float8", "x BETWEEN 0 AND 100", "", "0", "100", true},
	{"float8", "x > -1e-300 AND x <= 100", "", "0", "100", false},
	{"text", "x IN ('f', 'm')", "f m", "", "", true},
	{"text", "x IN ('f', 'm')", "f", "", "", false},
	{"text", "x = 'f' OR x = 'm'", "f m x", "", "", true},
	{"text", "x = ANY ('{f,m}')", "f m", "", "", false},
	{"text", "x <> '?'", "f m", "", "", false},
	{"text", "x >= 'f' AND x <= 'm'", "f m", "", "", false},
	{"text", "lower(x) IN ('f', 'm')", "f m", "", "", false},
	{"text", "x IN ('f', lower('M'))", "f m", "", "", false},
	{"text", "x::char(1) IN ('f', 'm')", "f m", "", "", false},
	{"text", "x::bpchar IN ('f', 'm')", "f m", "", "", false},
	{"text", "x IN ('fm'::varchar(1), 'm')", "fm m", "", "", false},
	{"text", "length(x) = 1", "f m x", "", "", false},
	{"varchar(3)", "x IN ('f', 'm')", "f m", "", "", true},
	{"char(3)", "x IN ('f', 'm')", "f m", "", "", true},
	{"char(3)", "x IN ('f  ', 'm')", "f m", "", "", true},
	{"date", "x BETWEEN '2020-01-01' AND '2020-12-31'", "", "2020-01-01", "2020-12-31", true},
	{"date", "x >= '2020-01-01' AND x < '2021-01-01'", "", "2020-01-01", "2020-12-31", true},
	{"date", "x > '2019-12-31 12:00'::timestamp AND x <= '2020-12-31 12:00'::timestamp", "", "2020-01-01", "2020-12-31", true},
	{"date", "x >= '2020-01-01' AND x <= '2021-01-01'", "", "2020-01-01", "2020-12-31", false},
	{"date", "x >= '2020-01-01'", "", "2020-01-01", "2020-12-31", false},
	{"date", "x >= '2020-01-01' AND x <= CURRENT_DATE", "", "2020-01-01", "2020-12-31", false},
	{"date", "x >= '2020-01-01+00'::timestamptz AND x <= '2020-12-31'", "", "2020-01-01", "2020-12-31", false},
	{"timestamp", "x >= '2020-01-01' AND x < '2021-01-01'", "", "2020-01-01", "2020-12-31 23:59:59.999999", true},
	{"timestamp", "x >= '2020-01-01' AND x <= '2021-01-01'", "", "2020-01-01", "2020-12-31 23:59:59.999999", false},
	{"timestamptz", "x >= '2020-01-01+00' AND x < '2021-01-01+00'", "", "2020-01-01", "2020-12-31 23:59:59.999999", true},
	{"timestamptz", "x >= '2020-01-01'::timestamp AND x <= '2020-12-31'::date", "", "2020-01-01", "2020-12-31", false},
	{"int", "x = ANY ((ARRAY[1, 2]::int8[])::numeric[])", "1 2", "", "", true},
	{"int", "x = ANY ((ARRAY[1.5, 2.5]::numeric[])::int[])", "1 2 5", "", "", false},
	{"int", "x = ANY ((ARRAY[1.4, 2.4]::numeric[])::int[])", "", "5", "9", false},
	{"text", "x = ANY ((ARRAY['f', 'm']::varchar[])::text[])", "f m", "", "", true},
	{"text", "x = ANY ((ARRAY['fm', 'x']::text[])::varchar(1)[])", "fm x", "", "", false},
	{"text", "x = ANY ((ARRAY['f '::text])::bpchar[]::text[])", "m", "", "", false},
	{"varchar(3)", "x = ANY ((ARRAY['fmx', 'x']::varchar[])::varchar(2)[])", "fmx x", "", "", false},
	{"varchar(3)", "x <> ALL ((ARRAY['fmx', 'x']::varchar[])::varchar(2)[])", "f m", "", "", false},
	{"numeric", "x = ANY ((ARRAY[0.96, 10.04]::numeric[])::numeric(3,1)[])", "0.96 10.04", "", "", false},
	{"numeric", "x = ANY ((ARRAY[0.96, 10.04]::numeric[])::int[])", "0.96 10.04", "", "", false},
	{"date", "x = ANY ((ARRAY['2020-06-01 10:00'::timestamp, '2021-01-01 11:00'::timestamp])::date[])", "2022-01-01", "", "", false},
	{"timestamp", "x = ANY ((ARRAY['2020-01-01 05:00+05'::timestamptz])::timestamp[])", "2021-01-02", "", "", false},
	{"float8", "x IN (0.1::float4, 2)", "0.1 2", "", "", false},
	{"float8", "x = ANY ((ARRAY[0.1]::numeric[])::float4[]::float8[])", "0.1", "", "", false},
	{"float8", "x >= 0 AND x <= 9007199254740992", "", "0", "9007199254740992", true},
	{"float8", "x >= 0 AND x <= 9007199254740995", "", "0", "9007199254740995", false},
	{"float8", "x >= 0 AND x <= 9007199254740995::bigint", "", "0", "9007199254740995", false},
	{"bool", "true", "false true", "", "", true},
	{"bool", "true", "true", "", "", false},
	{"mood", "true", "sad ok happy", "", "", true},
	{"mood", "true", "sad ok", "", "", false},
	{"mood", "x <> 'happy'", "sad ok", "", "", true},
	{"mood", "x::text IN ('sad', 'ok')", "sad ok", "", "", true},
}

// TestOnly holds claims against Postgres: a value that a claim excludes is one that the CHECK refuses.
func TestOnly(t *testing.T) {
	conn := connect(t)
	for _, c := range claims {
		for _, domain := range []bool{false, true} {
			table, column := made(t, conn, c.typ, c.check, domain)
			var labels []string
			if c.typ == "mood" {
				labels = candidates["mood"]
			}
			of := constraint.On(table, column, labels)
			values := strings.Fields(c.only)
			proved := len(values) > 0 && of.Only(values) || c.low != "" && of.Within(place(t, c.low), place(t, c.high))
			if overEnum := domain && labels != nil; proved != (c.proved && !overEnum) { // which has no declared values
				t.Errorf("%s CHECK (%s), of a domain %v: proved %v", c.typ, c.check, domain, proved)
			}
			for _, v := range candidates[c.typ] {
				if !of.Admits(v) && !refused(t, conn, v) {
					t.Errorf("%s CHECK (%s), of a domain %v: takes %q, which is said to be excluded", c.typ, c.check, domain, v)
				}
				if proved && !declared(t, conn, c.typ, v, values, c.low, c.high) && !refused(t, conn, v) {
					t.Errorf("%s CHECK (%s), of a domain %v: takes %q, which is not declared", c.typ, c.check, domain, v)
				}
			}
			exec(t, conn, "DROP TABLE t; DROP DOMAIN IF EXISTS d")
		}
	}
}

var column = regexp.MustCompile(`\bx\b`)

// made makes a table t with a column x that has the condition, or a domain that has it, and reads it.
func made(t *testing.T, conn *pgx.Conn, typ, check string, domain bool) (*catalog.Table, *catalog.Column) {
	t.Helper()
	if domain {
		exec(t, conn, fmt.Sprintf("CREATE DOMAIN d AS %s CHECK (%s); CREATE TABLE t (x d)", typ, column.ReplaceAllString(check, "VALUE")))
	} else {
		exec(t, conn, fmt.Sprintf("CREATE TABLE t (x %s CHECK (%s))", typ, check))
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	name := catalog.Name{Schema: "public", Name: "t"}
	s, err := introspect.Read(t.Context(), tx, introspect.Relations{Names: []catalog.Name{name}})
	if err != nil {
		t.Fatal(err)
	}
	return s.Tables[name], &s.Tables[name].Columns[0]
}

// place is that of a number or a moment in their order.
func place(t *testing.T, text string) *big.Rat {
	t.Helper()
	if at, ok := scalar.Instant(text); ok {
		return at
	}
	at, ok := constraint.Number(text)
	if !ok {
		t.Fatalf("%q is no bound", text)
	}
	return at
}

// refused reports whether a row with the value violates a constraint.
func refused(t *testing.T, conn *pgx.Conn, value string) bool {
	t.Helper()
	_, err := conn.Exec(t.Context(), "INSERT INTO t VALUES ('"+value+"')", pgx.QueryExecModeSimpleProtocol)
	return err != nil
}

// declared asks Postgres whether a value is among some, or between bounds.
func declared(t *testing.T, conn *pgx.Conn, typ, value string, values []string, low, high string) (is bool) {
	t.Helper()
	sql := fmt.Sprintf("SELECT '%s'::%s BETWEEN '%s' AND '%s'", value, typ, low, high)
	if len(values) > 0 {
		sql = fmt.Sprintf("SELECT '%s'::%s IN ('%s')", value, typ, strings.Join(values, "', '"))
	}
	if err := conn.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&is); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return is
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	conn, err := pgx.Connect(t.Context(), s.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	exec(t, conn, "SET TimeZone = 'UTC'; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
	if !s.InfiniteNumerics() {
		candidates["numeric"] = slices.DeleteFunc(candidates["numeric"], func(v string) bool { return v == "-Infinity" })
	}
	return conn
}
