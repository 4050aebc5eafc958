package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// testExecute runs prepared statements by name, in both protocols.
func testExecute(t *testing.T, w *world) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		ana := connect(t, w.url("ana"))
		number := func(sql string) (n float64) {
			t.Helper()
			if err := ana.QueryRow(t.Context(), sql, mode).Scan(&n); err != nil {
				t.Errorf("%v: %s: %v", mode, sql, err)
			}
			return n
		}
		spent := w.spent(t, accountant.UnitScope, "patient")
		charged := func(what string, times int64) {
			t.Helper()
			now := w.spent(t, accountant.UnitScope, "patient")
			if n := (now - spent) / (39 * dp.PicoPerUnit); n != times {
				t.Errorf("%v: %s was charged %d times, want %d", mode, what, n, times)
			}
			spent = now
		}
		must(t, ana, "PREPARE born(int, int) AS SELECT count(*) FROM patients WHERE birth_year BETWEEN $1 AND $2")
		must(t, ana, "PREPARE f(float8) AS SELECT CASE WHEN $1 = 0.1234567890123 THEN 1 ELSE 0 END + 0 * count(*) FROM patients")
		must(t, ana, "PREPARE c(char(3), numeric) AS SELECT length($1) + $2 + 0 * count(*) FROM patients")
		must(t, ana, "SET extra_float_digits = -10; SET DateStyle = 'SQL, DMY'")
		charged("PREPARE", 0)
		all, few := number("EXECUTE born(1900, 2100)"), number("EXECUTE born(2100 - 1, /* , */ '2100')")
		if all < 990 || all > 1010 || few > 5 {
			t.Errorf("%v: all %v, none %v", mode, all, few)
		}
		charged("EXECUTE, twice", 2)
		// Values arrive as they are, whatever the session's settings print.
		if got := number("EXECUTE f(0.1234567890123)"); got != 1 {
			t.Errorf("%v: a float has lost digits", mode)
		}
		if got := number("EXECUTE c('abc', 1.5)"); got != 4.5 {
			t.Errorf("%v: character and numeric: %v", mode, got)
		}
		charged("two more", 2)
		rows, err := ana.Query(t.Context(), "EXPLAIN EXECUTE born(1900, 2000)", mode)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || !strings.Contains(strings.Join(plan, "\n"), "count(*)") || rows.CommandTag().String() != "EXPLAIN" {
			t.Errorf("%v: EXPLAIN EXECUTE: %v, %v", mode, plan, err)
		}
		testExecuteForFree(t, ana, mode)
		charged("what is refused or explained", 0)
		testExecuteOfShadow(t, ana, mode)
		charged("one's own table", 0)
		testExecuteIntoTable(t, ana, mode, charged)
	}
}

// A table of the rows of a prepared query is charged as the query is, and one without data
// not at all.
func testExecuteIntoTable(t *testing.T, ana *pgx.Conn, mode pgx.QueryExecMode, charged func(what string, times int64)) {
	t.Helper()
	run := func(sql, want string) {
		t.Helper()
		if tag, err := ana.Exec(t.Context(), sql, mode); err != nil || tag.String() != want {
			t.Errorf("%v: %s: %v, %v", mode, sql, tag, err)
		}
	}
	run("CREATE TEMP TABLE none (many) AS EXECUTE born(1900, 2100) WITH NO DATA", "SELECT 0")
	run("EXPLAIN CREATE TEMP TABLE never AS EXECUTE born(1900, 2100)", "EXPLAIN")
	charged("a table without data", 0)
	run("CREATE TEMP TABLE made AS EXECUTE born(1900, 2101)", "SELECT 1")
	charged("a table", 1)
	run("CREATE TEMP TABLE exactly (n) AS EXECUTE f(0.1234567890123)", "SELECT 1")
	charged("a table of a float", 1)
	var none, made, digits int
	err := ana.QueryRow(t.Context(),
		"SELECT (SELECT count(many) FROM none), (SELECT count FROM made), (SELECT n FROM exactly)", mode).
		Scan(&none, &made, &digits)
	if err != nil || none != 0 || made < 990 || made > 1010 || digits != 1 {
		t.Errorf("%v: tables of %d, %d and %d, %v", mode, none, made, digits, err)
	}
	must(t, ana, "PREPARE kept AS INSERT INTO made SELECT count(*) FROM patients RETURNING count")
	if _, err := ana.Exec(t.Context(), "CREATE TEMP TABLE x AS EXECUTE kept", mode); code(err) != "0A000" {
		t.Errorf("%v: a table of an INSERT: %v", mode, err)
	}
	charged("no query", 0)
}

// Forms of EXECUTE that run for nothing, or not at all.
func testExecuteForFree(t *testing.T, ana *pgx.Conn, mode pgx.QueryExecMode) {
	t.Helper()
	must(t, ana, "PREPARE rows AS SELECT id, sex FROM patients")
	must(t, ana, "PREPARE probe AS SELECT id FROM patients LIMIT 0")
	must(t, ana, "PREPARE state AS SELECT count(*) FROM dp.budget")
	var n int
	if err := ana.QueryRow(t.Context(), "EXECUTE state", mode).Scan(&n); err != nil || n < 1 {
		t.Errorf("%v: dp.budget has %d rows, %v", mode, n, err)
	}
	if tag, err := ana.Exec(t.Context(), "EXECUTE probe", mode); err != nil || tag.String() != "SELECT 0" {
		t.Errorf("%v: a probe: %v, %v", mode, tag, err)
	}
	for sql, want := range map[string]string{
		"EXECUTE rows":                                   "PB002",
		"EXPLAIN EXECUTE rows":                           "PB002",
		"CREATE TEMP TABLE x AS EXECUTE rows":            "PB002",
		"CREATE TEMP TABLE x AS EXECUTE born(1)":         "42601",
		"EXPLAIN ANALYZE EXECUTE born(1, 2)":             "PB004",
		"EXECUTE born(generate_series(1, 2), 3)":         "0A000",
		"EXECUTE born((SELECT max(id) FROM patients),1)": "PB010",
		"EXECUTE born(1, 2), 3":                          "42601",
		"EXECUTE born(1)":                                "42601",
	} {
		if _, err := ana.Exec(t.Context(), sql, mode); code(err) != want {
			t.Errorf("%v: %s: %v, want %s", mode, sql, err, want)
		}
	}
}

// A name that means one's own table when EXECUTE runs is nobody else's.
func testExecuteOfShadow(t *testing.T, ana *pgx.Conn, mode pgx.QueryExecMode) {
	t.Helper()
	must(t, ana, "CREATE TEMP TABLE patients (id int, birth_year int); INSERT INTO patients VALUES (1, 1950), (2, 1960)")
	var n int64
	if err := ana.QueryRow(t.Context(), "EXECUTE born(1900, 2000)", mode).Scan(&n); err != nil || n != 2 {
		t.Errorf("%v: a table of one's own: %d, %v", mode, n, err)
	}
	must(t, ana, "DROP TABLE pg_temp.patients")
}

// In a session that reads texts differently dpproxy cannot tell what EXECUTE runs, and the
// mirror refuses.
func testExecuteElsewhere(t *testing.T, w *world) {
	ana := connect(t, w.url("ana"))
	must(t, ana, "PREPARE p AS SELECT count(*) FROM patients; PREPARE q AS SELECT 1; SET standard_conforming_strings = off")
	if _, err := ana.Exec(t.Context(), "EXECUTE p", pgx.QueryExecModeSimpleProtocol); code(err) != "PB010" {
		t.Errorf("with other strings: %v", err)
	}
	must(t, ana, "EXECUTE q")
	must(t, ana, "RESET standard_conforming_strings")
	// Texts of which it cannot be told which statement they prepare.
	must(t, ana, "PREPARE r AS SELECT count(*) FROM patients; DEALLOCATE r; PREPARE r AS SELECT 2 FROM patients")
	if _, err := ana.Exec(t.Context(), "EXECUTE r"); code(err) != "PB010" {
		t.Errorf("prepared twice in one text: %v", err)
	}
	long := "PREPARE s AS SELECT 1" + strings.Repeat(" + 1", 2000)
	if _, err := ana.Exec(t.Context(), long, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := ana.QueryRow(t.Context(), "EXECUTE s", pgx.QueryExecModeSimpleProtocol).Scan(&n); err != nil || n != 2001 {
		t.Errorf("a public statement too long to be parsed here: %d, %v", n, err)
	}
	must(t, ana, fmt.Sprintf("SELECT '%s execute'", strings.Repeat("x", 100_000)))
}
