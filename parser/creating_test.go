package parser_test

import (
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/parsertest"
)

// TestCreating puts prepared queries in the place of EXECUTE, and leaves what is no query there.
func TestCreating(t *testing.T) {
	for _, c := range []struct{ statement, query, want string }{
		{
			"CREATE TEMP TABLE t (n) ON COMMIT DROP AS EXECUTE p", "SELECT count(*) FROM patients",
			"CREATE TEMP TABLE t (n) ON COMMIT DROP AS ...\n",
		},
		{"CREATE TABLE t AS EXECUTE p (1, ')') WITH DATA", "SELECT count(*), $1 FROM patients -- all", "CREATE TABLE t AS ...\n WITH DATA"},
		{
			"CREATE TEMP TABLE IF NOT EXISTS t AS /* now */ EXECUTE p",
			"WITH q AS (SELECT count(*) n FROM patients) SELECT n FROM q ORDER BY 1 LIMIT 1",
			"CREATE TEMP TABLE IF NOT EXISTS t AS /* now */ ...\n",
		},
		{"CREATE TABLE t AS EXECUTE p WITH NO DATA", "TABLE hospitals", "CREATE TABLE t AS ...\n WITH NO DATA"},
		{"CREATE TABLE t AS EXECUTE p", "VALUES (1)", "CREATE TABLE t AS ...\n"},
		{"CREATE TABLE t AS EXECUTE p", "INSERT INTO u SELECT count(*) FROM patients RETURNING n", ""},
		{"CREATE TABLE t AS EXECUTE p", "DELETE FROM u WHERE n = (SELECT count(*) FROM patients)", ""},
		{"CREATE TABLE t AS EXECUTE p", "SELECT count(*) INTO u FROM patients", ""},
		{"EXPLAIN CREATE TABLE t AS EXECUTE p", "SELECT count(*) FROM patients", ""},
		{"EXECUTE p", "SELECT count(*) FROM patients", ""},
	} {
		before, after, ok := visitNode(t, c.statement).Creating(visitNode(t, c.query))
		got := ""
		if ok {
			got = before + "..." + after
		}
		if got != c.want {
			t.Errorf("%s of %s: %q", c.statement, c.query, got)
		}
	}
}

func visitNode(t *testing.T, sql string) *parser.Statement {
	t.Helper()
	script, err := parser.Parse(sql, parsertest.Clinic)
	if err != nil || len(script.Statements) != 1 {
		t.Fatalf("%s: %v", sql, err)
	}
	return script.Statements[0]
}
