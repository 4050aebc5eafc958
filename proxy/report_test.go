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
		average := row("SELECT avg(birth_year)::float8, dp.stderr(avg(birth_year)), dp.lower(avg(birth_year), 0.8), " +
			"dp.upper(avg(birth_year), 0.8) FROM patients")
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
	ranks(t, ana, row)
	ana.set(t, "dp.relative_error = 0.05")
	looked := row("SELECT count(*)::float8, dp.noise_scale(count(*)), dp.lower(count(*)), dp.upper(count(*)) FROM patients")
	if half := looked[3] - looked[0]; half > 0.0527*looked[0] || half < 1.96*looked[1] || math.Abs(looked[0]-1000) > 100 {
		t.Errorf("after several looks %v", looked)
	}
	if _, err := ana.Exec(t.Context(), "SELECT dp.upper(count(*), 0.99) FROM patients"); err == nil {
		t.Error("a confidence that the looks were not taken for")
	}
	public := row("SELECT count(*)::float8, dp.stderr(count(*)), dp.lower(count(*)), dp.upper(count(*), 0.9) FROM hospitals")
	if public[1] != 0 || public[2] != public[0] {
		t.Errorf("public rows %v", public)
	}
}

// TestCutReports asks how many units count for less than they have, by limits of the policy and chosen
// ones, where a key proves that none does, and of public rows. It costs nothing beside the count.
func TestCutReports(t *testing.T) {
	w := newWorld(t)
	ana := w.client(t, "ana")
	for _, sql := range []string{
		"SELECT dp.cut(count(*)), dp.cut_upper(avg(birth_year), 0.9), dp.cut_upper(max(birth_year)) FROM patients",
		"SELECT dp.cut(count(*)), dp.cut_upper(count(*)), dp.cut_upper(count(*), 0.9) FROM hospitals",
	} {
		var got [3]float64
		if err := ana.QueryRow(t.Context(), sql).Scan(&got[0], &got[1], &got[2]); err != nil || got != [3]float64{} {
			t.Errorf("%s: %v, %v", sql, got, err)
		}
	}
	for _, c := range []struct {
		settings string
		cut      float64 // of 980 patients with five visits
	}{
		{"dp.max_rows = 10", 0},
		{"dp.max_rows = 4", 980},
		{"dp.max_rows = ''; SET dp.contribution = auto", 0},
		{"dp.max_rows = 4", 980},
	} {
		ana.set(t, c.settings)
		before := w.spent(t, "unit", "patient")
		var cut, upper, most float64
		const sql = "SELECT dp.cut(count(*)), dp.cut_upper(count(*)), dp.cut_upper(count(*), 0.95) FROM visits"
		if err := ana.QueryRow(t.Context(), sql).Scan(&cut, &upper, &most); err != nil {
			t.Fatal(err)
		}
		if math.Abs(cut-c.cut) > 3 || upper < cut || upper > cut+3 || most != upper {
			t.Errorf("%s: %v are cut, at most %v, at 95 %% %v", c.settings, cut, upper, most)
		}
		price := w.spent(t, "unit", "patient") - before
		if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM visits"); err != nil { // NULL where the choice takes too low a limit
			t.Fatal(err)
		}
		if alone := w.spent(t, "unit", "patient") - before - price; alone != price || price == 0 {
			t.Errorf("%s: who is cut costs %d, the count alone %d", c.settings, price, alone)
		}
	}
}

// ranks asks for the intervals of values themselves: the truth is in them, and times, arrays and
// deviations are refused.
func ranks(t *testing.T, ana *client, row func(string) []float64) {
	t.Helper()
	const median = "percentile_cont(0.25) WITHIN GROUP (ORDER BY birth_year DESC)"
	for range 20 {
		got := row("SELECT dp.lower(" + median + ", 0.9999), dp.upper(" + median +
			", 0.9999), dp.lower(max(birth_year), 0.9999), dp.upper(max(birth_year), 0.9999) FROM patients")
		if got[0] > 1989 || got[1] < 1988 || got[1]-got[0] > 20 || got[2] > 2009 || got[3] < 2000 {
			t.Errorf("a quartile within %v, the last year within %v", got[:2], got[2:])
		}
	}
	none := row("SELECT coalesce(dp.lower(min(birth_year)), -1), " +
		"coalesce(dp.upper(percentile_disc(NULL) WITHIN GROUP (ORDER BY birth_year)), -1), 0, 0 FROM patients WHERE id < 0")
	if none[1] != -1 {
		t.Errorf("no percentile has an interval of %v", none)
	}
	for _, sql := range []string{
		"SELECT dp.stderr(max(birth_year)) FROM patients",
		"SELECT dp.upper(percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY birth_year)) FROM patients",
	} {
		if _, err := ana.Exec(t.Context(), sql); code(err) != "0A000" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestAverageInterval holds that a mean of differences of timestamps is an interval that is as far from the true one as is said,
// however a session writes intervals.
func TestAverageInterval(t *testing.T) {
	w := newWorld(t)
	ana := w.client(t, "ana")
	const mean = "avg(timestamp '2010-01-01' - least(greatest(day, date '2020-01-01'), date '2024-12-31'))"
	var truth float64
	data := connect(t, w.data.URL("postgres", "postgres"))
	if err := data.QueryRow(t.Context(), "SELECT extract(epoch FROM "+mean+")::float8 FROM visits").Scan(&truth); err != nil {
		t.Fatal(err)
	}
	for _, style := range []string{"postgres", "sql_standard", "iso_8601"} {
		ana.set(t, "IntervalStyle = "+style, "dp.epsilon = 5")
		var seconds, half float64
		sql := "SELECT extract(epoch FROM " + mean + ")::float8, dp.error(" + mean + ") FROM visits WHERE '" + style + "' <> ''"
		if err := ana.QueryRow(t.Context(), sql).Scan(&seconds, &half); err != nil {
			t.Fatal(err)
		}
		if truth >= 0 || math.Abs(seconds-truth) > 3*half || half > -truth/2 {
			t.Errorf("%s: %v ± %v, in truth %v", style, seconds, half, truth)
		}
	}
}
