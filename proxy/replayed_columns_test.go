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

// TestWithheldInReplays has groups of about as many people as are wanted. One that the answer withholds is withheld in all replays, so that
// neither the interval of what is computed of it nor how often that is the same tells how near its count was.
func TestWithheldInReplays(t *testing.T) {
	w := newWorldWith(t, func(cfg *proxy.Config) { cfg.Defaults.DeltaAtto = 1e8 }, large(t))
	conn, said := noticesOf(t, w)
	must(t, conn, "SET dp.epsilon = 0.0703; SET dp.minimum_people = 165; SET dp.columns = intervals")
	withheld := 0
	for _, among := range []int{480, 490, 500} {
		*said = nil
		rows, err := conn.Query(t.Context(), fmt.Sprintf("SELECT sex, coalesce(n, 0)::float8 AS x, (n IS NULL)::text AS t FROM "+
			"(SELECT sex, count(*) AS n FROM patients WHERE sex = 'f' OR id <= %d GROUP BY 1) q", among))
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			row, err := pgx.RowToMap(rows)
			if err != nil {
				t.Fatal(err)
			}
			sex, x, hidden := row["sex"], row["x"].(float64), row["t"]
			low, known := row["x_lower"].(float64)
			high, ends := row["x_upper"].(float64)
			switch {
			case !known || !ends:
				t.Errorf("%s has no interval", sex)
			case hidden == "true":
				if withheld++; x != 0 || low != 0 || high != 0 {
					t.Errorf("%s is withheld: %v, from %v to %v", sex, x, low, high)
				}
			case low >= x || high <= x:
				t.Errorf("%s is shown: %v, from %v to %v", sex, x, low, high)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(*said, "\n"); !strings.Contains(all, "t the same in 100 of 100 replays") {
			t.Error(all)
		}
	}
	if withheld == 0 {
		t.Error("no group is withheld")
	}
}
