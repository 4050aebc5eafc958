package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Statements that take too much work are refused before anything is read, and the session's statement_timeout ends them before that.
func testLongPlanning(t *testing.T, w *world) {
	columns := func(format string) (list string) {
		for i := range 300 {
			list += fmt.Sprintf(format, i)
		}
		return list
	}
	nested := "(SELECT " + columns("birth_year AS c%d, ") + "id FROM patients) s"
	for range 28 { // each is a relation of its own, since it asks for rows
		nested = "(SELECT " + columns("-c%d AS c%[1]d, ") + "id FROM " + nested + " WHERE id IN (SELECT id FROM patients)) s"
	}
	nested = "SELECT count(*) FROM " + nested
	percentiles := "SELECT percentile_cont('{" + strings.TrimSuffix(strings.Repeat("0.5,0.25,", 100), ",") +
		"}'::float8[]) WITHIN GROUP (ORDER BY birth_year) FROM patients"
	ana := connect(t, w.url("ana"))
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		for _, sql := range []string{nested, percentiles, "EXPLAIN " + nested} {
			if _, err := ana.Exec(t.Context(), sql, mode); code(err) != "54001" {
				t.Errorf("%.40s: %v", sql, err)
			}
		}
	}
	must(t, ana, "SET statement_timeout = 20") // what the mirror is asked may also take longer: it says the same
	if _, err := ana.Exec(t.Context(), nested); code(err) != "57014" || !strings.Contains(err.Error(), "due to statement timeout") {
		t.Errorf("%v", err)
	}
}
