package proxy_test

import (
	"errors"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
)

// Answers with a very large epsilon are close to the truth: this test is about
// everything around the noise.
func testAnswers(t *testing.T, w *world) {
	ana, truth := connect(t, w.url("ana")), connect(t, w.data.URL("postgres", "postgres"))
	cases := []struct {
		sql  string
		args []any
		tol  float64
	}{
		{"SELECT count(*) FROM patients", nil, 3},
		{"SELECT count(*) FROM patients WHERE birth_year > 1980", nil, 3},
		{"SELECT count(*) FROM patients WHERE birth_year > $1 AND sex = $2", []any{1970, "f"}, 3},
		{"SELECT count(*) FROM patients WHERE NOT smoker OR mood = 'sad'", nil, 3},
		{"SELECT count(*) FROM visits WHERE patient_id IS NOT NULL AND day BETWEEN '2020-03-01' AND date '2021-03-01' + 30", nil, 20},
		{"SELECT count(*) FROM visits WHERE patient_id IS NOT NULL AND diagnosis LIKE 'c%'", nil, 20},
		{"SELECT count(cost) FROM visits WHERE patient_id IS NOT NULL AND cost IN (7, 14)", nil, 20},
		{"SELECT sum(birth_year) FROM patients WHERE sex <> 'x'", nil, 1000},
		{"SELECT sum(cost)::float8 FROM visits WHERE patient_id IS NOT NULL", nil, 1000},
		{"/* dp: contribution=auto */ SELECT sum(hospital_id) FROM visits WHERE patient_id > 0", nil, 200}, // without bounds
		{"SELECT avg(birth_year)::float8 FROM patients", nil, 0.5},
		{"SELECT avg(cost)::float8 FROM visits WHERE patient_id IS NOT NULL", nil, 1},
	}
	for _, c := range cases {
		var got, want float64
		if err := ana.QueryRow(t.Context(), c.sql, c.args...).Scan(&got); err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if err := truth.QueryRow(t.Context(), c.sql, c.args...).Scan(&want); err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want) > c.tol {
			t.Errorf("%s = %v, want about %v", c.sql, got, want)
		}
	}
}

func testRefusals(t *testing.T, w *world) {
	before := w.spent(t, accountant.UnitScope, "patient")
	ana := connect(t, w.url("ana"))
	for _, c := range []struct{ sql, code string }{
		{"SELECT * FROM patients", "PB002"},
		{"SELECT sum(hospital_id) FROM visits", "PB003"},
		{"SELECT count(*) FROM patients WHERE name = 'x'", "42703"},
		{"SELECT mood - mood, count(*) FROM patients GROUP BY 1", "42883"},
		{"SELECT count(*) FROM patients WHERE nothing = 1", "42703"},
		{"SELECT count(*) FROM patients WHERE birth_year = 'x'", "22P02"},
		{"SELECT count(*) FROM patients WHERE birth_year > 1/0", "22012"},
		{"SELECT count(*) FROM patients WHERE birth_year > 1 / 0 + 1", "22012"},
		{"SELECT count(* FROM patients", "42601"},
		{"SET dp.epslion = 1", "42704"},
		{"SET dp.epsilon = 'NaN'", "22023"},
		{"COPY patients TO STDOUT", "PB002"},
		{"DO $$ BEGIN PERFORM count(*) FROM patients; END $$", "PB010"},
	} {
		_, err := ana.Exec(t.Context(), c.sql)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != c.code {
			t.Errorf("%s: %v, want %s", c.sql, err, c.code)
		}
		if _, err := ana.Exec(t.Context(), c.sql, pgx.QueryExecModeSimpleProtocol); err == nil {
			t.Errorf("%s: accepted in the simple protocol", c.sql)
		}
	}
	if n := w.spent(t, accountant.UnitScope, "patient") - before; n != 0 {
		t.Errorf("refusals cost %d", n)
	}
}
