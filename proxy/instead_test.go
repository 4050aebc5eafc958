package proxy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
)

// testSuggestions holds that a suggestion is planned before it is made: this proxy has no delta, so that no private group can be shown.
func testSuggestions(t *testing.T, w *world) {
	before := w.spent(t, accountant.UnitScope, "patient")
	long := strings.Repeat("x", 6000)
	for _, c := range []struct {
		sql  string
		args []any
		want string
	}{
		{
			"SELECT string_agg(diagnosis, ',') FROM visits", nil,
			"SELECT string_agg(diagnosis, ',') FROM (SELECT diagnosis FROM visits GROUP BY diagnosis HAVING count(*) > 0) AS shown",
		},
		{"SELECT array_agg(hospital_id) FROM visits", nil, "SELECT count(*) FROM visits"},
		{"SELECT array_agg(diagnosis) FROM visits WHERE hospital_id < $1", []any{3}, "SELECT array_agg(diagnosis) FROM " +
			"(SELECT diagnosis FROM visits WHERE hospital_id < $1 GROUP BY diagnosis HAVING count(*) > 0) AS shown"},
		{"SELECT id FROM patients WHERE name <> '" + long + "' OR sex <> '" + long + "'", nil, ""}, // name is hidden
		{"SELECT id FROM patients WHERE sex <> '" + long + "'", nil, "SELECT count(*) FROM patients WHERE sex <> '" + long + "'"},
		{"SELECT id FROM patients WHERE birth_year > 1 / 0", nil, ""}, // the constant fails where it is planned
		{
			"SELECT id FROM patients WHERE birth_year > (SELECT avg(birth_year) FROM patients)", nil,
			"SELECT count(*) FROM patients WHERE birth_year > (SELECT avg(birth_year) FROM patients)",
		},
		{"SELECT count(*) FROM visits WHERE diagnosis::int > 3", nil, ""}, // fails on the groups, too
		{"SELECT count(*) FROM visits WHERE diagnosis COLLATE \"C\" ~ repeat('x', 300)", nil, "SELECT coalesce(sum(n), 0) FROM " +
			"(SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis) AS visits WHERE diagnosis COLLATE \"C\" ~ repeat('x', 300)"},
		{"EXPLAIN SELECT id FROM patients", nil, "EXPLAIN SELECT count(*) FROM patients"},
	} {
		ana := connect(t, w.url("ana"))
		_, err := ana.Exec(t.Context(), c.sql, c.args...)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if _, got, _ := strings.Cut(strings.TrimSuffix(refused.Hint, "."), "Try: "); got != c.want {
			t.Errorf("%.200s\nhas    %.200s\nis not %.200s", c.sql, got, c.want)
		}
	}
	if n := w.spent(t, accountant.UnitScope, "patient") - before; n != 0 {
		t.Errorf("suggestions cost %d", n)
	}
}
