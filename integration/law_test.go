package integration_test

import (
	"strconv"
	"sync"
	"testing"

	"dpproxy/internal/stattest"
)

// draws is how often each statement is asked.
const draws = 20_000

// TestLaw asks one COUNT and one SUM twenty thousand times on the real path and
// compares the answers with the exact law of the noise that the plan states,
// recomputed here from epsilon and the sensitivity. The same test with a
// sensitivity that is off by 1.5 must fail.
func TestLaw(t *testing.T) {
	s := newSite(t, clinicSchema, clinicPolicy)
	r := s.run(t)
	// The budget is pure, so that the noise is discrete Laplace of scale Δ/ε: a
	// count of patients has Δ = 1, a sum of birth years Δ = 2010.
	cases := []struct {
		sql, epsilon, truth string
		scale               float64
	}{
		{"SELECT count(*) FROM patients WHERE sex = 'f'", "0.1", "SELECT count(*) FROM patients WHERE sex = 'f'", 1 / 0.1},
		{"SELECT sum(birth_year) FROM patients WHERE region = 'north'", "0.2", "SELECT sum(birth_year) FROM patients WHERE region = 'north'", 2010 / 0.2},
	}
	for _, c := range cases {
		t.Run(c.sql, func(t *testing.T) {
			var truth int64
			if err := dial(t, s.data.URL("postgres", "postgres")).QueryRow(t.Context(), c.truth).Scan(&truth); err != nil {
				t.Fatal(err)
			}
			noise := sample(t, r, c.epsilon, c.sql, truth)
			if p := stattest.Fit(noise, stattest.Laplace(c.scale)); p < stattest.Level {
				t.Errorf("the answers do not follow discrete Laplace noise of scale %v: p = %g", c.scale, p)
			}
			for _, wrong := range []float64{1.5, 1 / 1.5} {
				if p := stattest.Fit(noise, stattest.Laplace(c.scale*wrong)); p >= stattest.Level {
					t.Errorf("a sensitivity off by %.2f is not seen: p = %g", wrong, p)
				}
			}
		})
	}
}

// sample collects the noise of many answers, over a few connections.
func sample(t *testing.T, r *running, epsilon, sql string, truth int64) []int64 {
	t.Helper()
	const clients = 4
	noise := make([]int64, draws)
	var all sync.WaitGroup
	for i := range clients {
		conn := dial(t, r.url("ana"))
		must(t, conn, "SET dp.epsilon = "+epsilon)
		all.Go(func() {
			for k := i; k < draws; k += clients {
				var n int64
				if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
					t.Errorf("answer %s: %v", strconv.Itoa(k), err)
					return
				}
				noise[k] = n - truth
			}
		})
	}
	all.Wait()
	return noise
}
