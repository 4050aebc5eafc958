package proxy_test

import (
	"math"
	"testing"

	"dpproxy/dp"
	"dpproxy/proxy"
)

// TestReports asks for the errors of aggregates beside them.
func TestReports(t *testing.T) {
	w := accurate(t, func(cfg *proxy.Config) { cfg.Defaults.EpsilonPico = dp.PicoPerUnit; cfg.Answers = proxy.Answers{} }, large(t))
	ana := w.client(t, "ana")
	row := func(sql string) []float64 {
		t.Helper()
		out := make([]float64, 4)
		if err := ana.QueryRow(t.Context(), sql).Scan(&out[0], &out[1], &out[2], &out[3]); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return out
	}
	before := w.spent(t, "unit", "patient")
	count := row("SELECT count(*)::float8, dp.stderr(count(*)), dp.lower(count(*)), dp.upper(count(*), 0.95) FROM patients")
	price := w.spent(t, "unit", "patient") - before
	if count[1] < 0.9 || count[1] > 1.5 || count[0]-count[2] != count[3]-count[0] || count[0]-count[2] < 2 || count[0]-count[2] > 3 {
		t.Errorf("count %v", count)
	}
	before = w.spent(t, "unit", "patient")
	row("SELECT count(*)::float8, 0::float8, 0::float8, 0::float8 FROM patients WHERE id > 0")
	if alone := w.spent(t, "unit", "patient") - before; alone != price {
		t.Errorf("the errors cost %d, the count alone %d", price, alone)
	}
	const runs = 200
	missed := 0
	for range runs {
		average := row("SELECT avg(birth_year)::float8, dp.stderr(avg(birth_year)), dp.lower(avg(birth_year), 0.8), dp.upper(avg(birth_year), 0.8) FROM patients")
		if average[2] > average[0] || average[0] > average[3] || average[1] <= 0 {
			t.Fatalf("average %v", average)
		}
		if truth := 1968.74; average[2] > truth || average[3] < truth {
			missed++
		}
	}
	// Five standard deviations above 20 % of 200 are 68.
	if missed > 68 {
		t.Errorf("the interval misses in %d of %d", missed, runs)
	}
	ana.set(t, "dp.relative_error = 0.05")
	looked := row("SELECT count(*)::float8, dp.noise_scale(count(*)), dp.lower(count(*)), dp.upper(count(*)) FROM patients")
	if half := looked[3] - looked[0]; half > 0.05*looked[0] || half < 1.96*looked[1] || math.Abs(looked[0]-1000) > 100 {
		t.Errorf("after several looks %v", looked)
	}
	if _, err := ana.Exec(t.Context(), "SELECT dp.upper(count(*), 0.99) FROM patients"); err == nil {
		t.Error("a confidence that the looks were not taken for")
	}
	if public := row("SELECT count(*)::float8, dp.stderr(count(*)), dp.lower(count(*)), dp.upper(count(*), 0.9) FROM hospitals"); public[1] != 0 || public[2] != public[0] {
		t.Errorf("public rows %v", public)
	}
}
