package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/proxy"
)

// TestErrorColumnsByReplays reads the errors of values that are computed above released relations: each stands in the row of its value,
// whatever the order, in both protocols, and is NULL where it is not known.
func TestErrorColumnsByReplays(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.columns = errors")
	const cells = "(SELECT birth_year AS y, count(*) AS n FROM patients WHERE birth_year < 1930 GROUP BY birth_year) g"
	for _, c := range []struct {
		sql, columns string
		known        bool
	}{
		{"SELECT sum(n) AS total FROM " + groups, "total total_error", true},
		{"SELECT y, 100.0 * n / sum(n) OVER () AS share FROM " + cells + " ORDER BY n DESC", "y share share_error", true},
		{"SELECT 1000.0 / greatest(n + 50, 1) AS v FROM " + cells + " ORDER BY y", "v v_error", true},
		{"SELECT smoker, sum(n) OVER (ORDER BY smoker) AS run, n FROM " + groups, "smoker run n run_error n_error", true},
		{"SELECT * FROM (SELECT sum(n) AS total, 'x' AS x FROM " + groups + ") q", "total x total_error", true},
		{"SELECT max(n) AS most FROM " + groups, "most most_error", false},
		{"SELECT sqrt(count(*)) AS root FROM patients", "root root_error", true},
		{"SELECT 100.0 * (SELECT count(*) FROM patients) / (SELECT sum(n) FROM " + groups + ") AS v", "v v_error", true},
		{"SELECT (SELECT sum(n) FROM " + groups + ") / 2.0 AS v WHERE true ORDER BY 1 LIMIT 5", "v v_error", true},
		{"SELECT smoker, round(n, -1) AS v FROM " + groups, "smoker v v_error", true}, // a formula has it
		{"SELECT y, abs(n - 50) AS v, v_error FROM (SELECT y, n, 1 AS v_error FROM " + cells + ") q", "y v v_error v_error1", true},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheStatement} {
			rows, err := ana.Query(t.Context(), c.sql, mode)
			if err != nil {
				t.Fatalf("%s: %v", c.sql, err)
			}
			var names []string
			for _, f := range rows.FieldDescriptions() {
				names = append(names, f.Name)
			}
			errors := map[float64]bool{}
			for rows.Next() {
				values, err := rows.Values()
				if err != nil {
					t.Fatal(err)
				}
				half, ok := values[len(values)-1].(float64)
				if ok != c.known || ok && !(half > 0) {
					t.Errorf("%s: %v", c.sql, values)
				}
				errors[half] = true
			}
			if rows.Err() != nil {
				t.Fatalf("%s: %v", c.sql, rows.Err())
			}
			if strings.HasPrefix(c.sql, "SELECT y, 100") && len(errors) < 3 {
				t.Errorf("%s: all rows have one of the errors %v", c.sql, fmt.Sprint(errors))
			}
			if got := strings.Join(names, " "); got != c.columns {
				t.Errorf("%s: %s", c.sql, got)
			}
		}
	}
}
