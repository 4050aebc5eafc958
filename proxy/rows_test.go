package proxy_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
)

// With dp.rows = none a query for rows has its columns and no row, at no cost; a statement
// that is more than such a query is refused as ever.
func testWithoutRows(t *testing.T, w *world) {
	ana := connect(t, w.url("ana"))
	before := w.spent(t, accountant.UnitScope, "patient")
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
		must(t, ana, "RESET dp.rows; DEALLOCATE ALL; PREPARE rows AS SELECT id, sex FROM patients")
		for sql, want := range map[string]int{
			"SELECT * FROM patients LIMIT 1":                             -1,
			"/* dp: rows=none */ SELECT id, sex FROM patients LIMIT 1":   2,
			"/* dp: rows=refuse */ SELECT id, sex FROM patients LIMIT 1": -1,
		} {
			checkRows(t, ana, mode, sql, want)
		}
		must(t, ana, "SET dp.rows = none")
		for sql, want := range map[string]int{
			"SELECT id, lower(sex) AS n FROM patients LIMIT 1":    2,
			"SELECT p.id, count(*) FROM patients p GROUP BY p.id": 2,
			"EXECUTE rows":                               2,
			"EXPLAIN EXECUTE rows":                       -1,
			"CREATE TEMP TABLE x AS EXECUTE rows":        -1,
			"EXPLAIN SELECT * FROM patients":             -1,
			"CREATE TEMP TABLE x AS TABLE patients":      -1,
			"COPY patients TO STDOUT":                    -1,
			"SELECT id FROM patients UNION ALL SELECT 1": -1,
			"DELETE FROM patients":                       -1,
			"WITH d AS (DELETE FROM hospitals RETURNING 1) SELECT p.id FROM patients p": -1,
			"SELECT (SELECT sex FROM patients LIMIT 1)":                                 -1,
		} {
			checkRows(t, ana, mode, sql, want)
		}
	}
	if now := w.spent(t, accountant.UnitScope, "patient"); now != before {
		t.Errorf("queries for rows cost %d", now-before)
	}
}

// checkRows holds that a query has that many columns and no row, or with -1 that it is refused.
func checkRows(t *testing.T, conn *pgx.Conn, mode pgx.QueryExecMode, sql string, want int) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, mode)
	columns := 0
	if err == nil {
		columns = len(rows.FieldDescriptions())
		for rows.Next() {
			t.Errorf("%v: %s has a row", mode, sql)
		}
		columns = max(columns, len(rows.FieldDescriptions()))
		err = rows.Err()
	}
	if err != nil {
		columns = -1
	}
	if columns != want {
		t.Errorf("%v: %s has %d columns (%v), want %d", mode, sql, columns, err, want)
	}
}
