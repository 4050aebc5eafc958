package proxy_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/proxy"
)

// TestErrorColumns reads the errors of columns beside them, in both protocols, from what is prepared, copied and
// declared: they are described before anything runs, are those that dp.lower and dp.upper tell, and cost nothing.
func TestErrorColumns(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	const sql = "SELECT sex, count(*) AS n, avg(birth_year), min(birth_year) FROM patients GROUP BY sex ORDER BY 1"
	if _, err := ana.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	before := w.spent(t, "unit", "patient")
	ana.set(t, "dp.columns = errors")
	columns := func(sql string, mode pgx.QueryExecMode) string {
		t.Helper()
		rows, err := ana.Query(t.Context(), sql, mode)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		defer rows.Close()
		var names []string
		for rows.Next() {
		}
		for _, f := range rows.FieldDescriptions() {
			names = append(names, f.Name)
		}
		if rows.Err() != nil {
			t.Fatalf("%s: %v", sql, rows.Err())
		}
		return strings.Join(names, " ")
	}
	const want = "sex n avg min n_error avg_error min_error"
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec,
	} {
		for _, wrapped := range []string{sql, "SELECT * FROM (" + sql + ") q LIMIT 100", "SELECT * FROM (" + sql + ") q LIMIT 0"} {
			if got := columns(wrapped, mode); got != want {
				t.Errorf("%v: %s: %s", mode, wrapped, got)
			}
		}
	}
	if after := w.spent(t, "unit", "patient"); after != before {
		t.Errorf("errors cost %d", after-before)
	}
	d, err := ana.Prepare(t.Context(), "s", "SELECT count(*) FROM patients WHERE birth_year > $1")
	if err != nil || len(d.Fields) != 2 || d.Fields[1].Name != "count_error" {
		t.Fatal(d, err)
	}
	var n int64
	var half float64
	if err := ana.QueryRow(t.Context(), "s", 1950).Scan(&n, &half); err != nil || half <= 0 {
		t.Error(n, half, err)
	}
	for _, table := range []string{"patients", "visits"} {
		ends(t, ana, table)
	}
	var out bytes.Buffer
	const copied = "COPY (SELECT count(*) AS n FROM patients) TO STDOUT (FORMAT csv, HEADER)"
	if _, err := ana.PgConn().CopyTo(t.Context(), &out, copied); err != nil || !strings.HasPrefix(out.String(), "n,n_error\n") ||
		strings.HasSuffix(out.String(), ",\n") {
		t.Errorf("COPY: %q, %v", out.String(), err)
	}
}

// ends compares the error of a count with dp.lower and dp.upper of it: it is the distance to the further end, and NULL where one
// is. That of rows is where released numbers do not say how much a limit leaves out; one of people has no limit.
func ends(t *testing.T, ana *client, table string) {
	t.Helper()
	var n int64
	var low, high, half *float64
	err := ana.QueryRow(t.Context(), "SELECT count(*), dp.lower(count(*)), dp.upper(count(*)) FROM "+table).Scan(&n, &low, &high, &half)
	switch {
	case err != nil:
		t.Errorf("%s: %v", table, err)
	case low == nil || high == nil || half == nil:
		if table == "patients" || low == nil || high != nil || half != nil {
			t.Errorf("%s: %d, lower %v, upper %v, error %v", table, n, low, high, half)
		}
	case math.Abs(*half-max(float64(n)-*low, *high-float64(n))) > 1e-9:
		t.Errorf("%s: %d, lower %v, upper %v, error %v", table, n, *low, *high, *half)
	}
}

// TestErrorColumnsOfUtilities reads errors from a cursor, a prepared statement and a table that a query has made.
func TestErrorColumnsOfUtilities(t *testing.T) {
	w := newWorld(t)
	ana := w.client(t, "ana")
	ana.set(t, "dp.columns = errors", "dp.epsilon = 1")
	for _, sql := range []string{
		"BEGIN", "DECLARE c CURSOR FOR SELECT count(*) FROM patients", "PREPARE p AS SELECT count(*) FROM patients",
		"CREATE TEMP TABLE z AS SELECT count(*) FROM patients",
	} {
		if _, err := ana.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{"FETCH c", "EXECUTE p", "SELECT * FROM z"} {
		var n int64
		var half float64
		if err := ana.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&n, &half); err != nil || half <= 0 {
			t.Errorf("%s: %d %v, %v", sql, n, half, err)
		}
	}
	utilitiesHaveAllColumns(t, ana)
}

// utilitiesHaveAllColumns has a value that is replayed and one with a formula, by each word of dp.columns: rows that are written have the
// same columns as rows that are shown, NULL of the replayed value, and values that are not rounded.
func utilitiesHaveAllColumns(t *testing.T, ana *client) {
	t.Helper()
	const sql = "SELECT sqrt(n) AS root, n FROM (SELECT count(*) AS n FROM patients) g"
	for word, want := range map[string]string{
		"errors": "root n root_error n_error", "rounded": "root n root_error n_error",
		"intervals": "root n root_lower root_upper root_stderr root_error n_lower n_upper n_stderr n_error",
	} {
		ana.set(t, "dp.columns = "+word)
		for _, made := range []string{"DECLARE d CURSOR FOR " + sql, "PREPARE q AS " + sql, "CREATE TEMP TABLE y AS " + sql} {
			must(t, ana.Conn, made)
		}
		for _, read := range []string{sql, "FETCH d", "EXECUTE q", "SELECT * FROM y"} {
			rows, err := ana.Query(t.Context(), read, pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				t.Fatal(err)
			}
			replayed := read == sql || read == "EXECUTE q"
			for rows.Next() {
				values, err := rows.Values()
				n, root, half := values[1], values[2], values[len(values)-1]
				if err != nil || (root != nil && root != "unknown") != replayed || half == nil || n == nil {
					t.Errorf("%s: %s: %v, %v", word, read, values, err)
				}
			}
			var names []string
			for _, f := range rows.FieldDescriptions() {
				names = append(names, f.Name)
			}
			if got := strings.Join(names, " "); got != want || rows.Err() != nil {
				t.Errorf("%s: %s: %s, %v", word, read, got, rows.Err())
			}
		}
		must(t, ana.Conn, "CLOSE d; DEALLOCATE q; DROP TABLE y")
	}
}

// TestErrorColumnsOfOne asks for them in a comment, by a function that sets them, and not at all; statements whose rows they
// would change, and those of public tables, have none.
func TestErrorColumnsOfOne(t *testing.T) {
	w := newWorld(t)
	ana := w.client(t, "ana")
	fields := func(sql string) int {
		t.Helper()
		r, err := ana.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return len(r[len(r)-1].FieldDescriptions)
	}
	for _, c := range []struct {
		sql  string
		want int
	}{
		{"SELECT count(*) FROM patients", 1},
		{"/* dp: columns=errors */ SELECT count(*) FROM patients", 2},
		{"SELECT count(*) FROM patients", 1},
		{"SET dp.columns = 'errors'; SELECT 1", 1},
		{"SELECT count(*) FROM patients", 2},
		{"/* dp: columns=values */ SELECT count(*) FROM patients", 1},
		{"SELECT 1 AS one; /* dp: columns=errors */ SELECT sex, count(*) FROM patients GROUP BY sex", 3},
		{"SELECT DISTINCT count(*) FROM patients GROUP BY sex", 1},
		{"SELECT count(*) FROM hospitals", 1},
		{"SELECT count(*) FROM patients UNION ALL SELECT 1", 1},
		{"RESET dp.columns; SELECT 1", 1},
		{"SELECT count(*) FROM patients", 1},
	} {
		if got := fields(c.sql); got != c.want {
			t.Errorf("%s: %d columns, want %d", c.sql, got, c.want)
		}
	}
	other := w.client(t, "ana")
	if _, err := other.Exec(t.Context(), "DO $$ BEGIN PERFORM set_config('dp.' || 'columns', 'errors', false); END $$"); err != nil {
		t.Fatal(err)
	}
	ana = other
	if fields("SELECT count(*) FROM patients"); fields("SELECT count(*) FROM patients") != 2 {
		t.Error("what a function has set is not seen")
	}
}

// TestErrorColumnsPositions holds that errors point into the text that the client wrote.
func TestErrorColumnsPositions(t *testing.T) {
	w := newWorld(t)
	ana := w.client(t, "ana")
	ana.set(t, "dp.columns = errors")
	for _, c := range []struct{ sql, at string }{
		{"SELECT count(*), 'é' AS é FROM patients WHERE nothing > 1", "nothing"},
		{"SELECT count(*) FROM patients WHERE (birth_year, id) IN (SELECT id, cost FROM visits)", "IN ("},
		{"SELECT bit_and(id) FROM patients", "bit_and"},
		{"SELECT nothing, count(*) FROM patients GROUP BY 1", "nothing"},
		{"SELECT count(*) FROM patients GROUP BY 1 + ORDER BY 1", "ORDER"},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			_, err := ana.Exec(t.Context(), c.sql, mode)
			e, ok := errors.AsType[*pgconn.PgError](err)
			if !ok {
				t.Fatalf("%s: %v", c.sql, err)
			}
			before, _, _ := strings.Cut(c.sql, c.at)
			if want := len([]rune(before)) + 1; int(e.Position) != want {
				t.Errorf("%s: %s at %d, want %d", c.sql, e.Message, e.Position, want)
			}
		}
	}
}
