package proxy_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
)

// TestDestination holds that a statement costs nothing whose result has no place to stay: the mirror refuses it first, as Postgres would.
func TestDestination(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	must(t, ana, "CREATE TEMP TABLE taken (n bigint); CREATE TEMP TABLE numbers (n bigint CHECK (n IS NOT NULL))")
	const count = "SELECT count(*) AS n FROM patients"
	const twice = "SELECT n FROM (" + count + ") p WHERE n > (SELECT count(*) FROM visits WHERE cost > 99)"
	for _, c := range []struct{ before, sql, code string }{
		{"", "CREATE TEMP TABLE taken AS " + count, "42P07"},
		{"", "CREATE TEMP TABLE taken AS " + twice, "42P07"},
		{"", "CREATE TABLE nowhere.x AS " + count, "3F000"},
		{"", "CREATE TABLE public.x AS " + count, "42501"},
		{"", "CREATE TEMP TABLE x (a, b) AS " + count, "42601"},
		{"", "CREATE TEMP TABLE x AS SELECT count(*) AS a, sum(cost) AS a FROM visits", "42701"},
		{"", "CREATE TEMP TABLE x TABLESPACE nowhere AS " + count, "42704"},
		{"", "SELECT count(*) AS n INTO TEMP taken FROM patients", "42P07"},
		{"", "SELECT count(*) AS n INTO public.x FROM patients", "42501"},
		{"", "INSERT INTO hospitals SELECT count(*), 'x' FROM patients", "42501"},
		{"", "UPDATE hospitals SET name = (SELECT count(*) FROM patients)::text", "42501"},
		{"", "DELETE FROM hospitals WHERE id > (SELECT count(*) FROM patients)", "42501"},
		{"", "WITH d AS (DELETE FROM hospitals RETURNING id) SELECT count(*), (SELECT count(*) FROM d) FROM patients", "42501"},
		{"", "MERGE INTO hospitals h USING (" + count + ") q ON h.id = q.n WHEN MATCHED THEN DELETE", "42501"},
		{"", "DECLARE c CURSOR FOR " + count, "25P01"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT 1", "DECLARE c CURSOR FOR " + count, "42P03"},
		{"BEGIN", "CREATE TEMP TABLE taken AS " + count, "42P07"},
		{"PREPARE p AS " + count, "CREATE TEMP TABLE taken AS EXECUTE p", "42P07"},
	} {
		before := w.spent(t, accountant.UnitScope, "patient")
		if c.before != "" {
			must(t, ana, c.before)
		}
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			if _, err := ana.Exec(t.Context(), c.sql, mode); code(err) != c.code {
				t.Errorf("%v: %s: %v, want %s", mode, c.sql, err, c.code)
			}
			if ana.PgConn().TxStatus() == 'E' {
				break
			}
		}
		must(t, ana, "ROLLBACK")
		if w.spent(t, accountant.UnitScope, "patient") != before {
			t.Errorf("%s cost", c.sql)
		}
	}
	for _, sql := range []string{
		"CREATE TEMP TABLE a AS " + count, "CREATE TEMP TABLE b (x) ON COMMIT DROP AS " + twice,
		"SELECT count(*) AS n INTO TEMP TABLE d FROM patients",
		`CREATE TEMP TABLE IF NOT EXISTS "e'\" AS ` + count, "INSERT INTO numbers " + count, "UPDATE numbers SET n = (" + count + ")",
		"DELETE FROM numbers WHERE n > (" + count + ")", "CREATE TEMP TABLE IF NOT EXISTS taken AS " + count,
		"BEGIN; DECLARE c CURSOR FOR " + count + "; FETCH c; COMMIT", `DECLARE "h'" CURSOR WITH HOLD FOR ` + count,
	} {
		must(t, ana, sql)
	}
}
