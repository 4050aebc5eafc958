package privacy_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"dpproxy/internal/sitetest"
	"dpproxy/internal/stattest"
)

// draws is how often each statement is asked: DPPROXY_DRAWS.
func draws(t *testing.T) int {
	t.Helper()
	text := os.Getenv("DPPROXY_DRAWS")
	if text == "" {
		return 5000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLaw asks one COUNT and one SUM thousands of times on the real path and
// compares the answers with the exact law of the noise that the plan states,
// recomputed here from epsilon and the sensitivity: a count of patients changes by
// 1, a sum of birth years by 2010. A law for a sensitivity that is off by 1.5 must
// be rejected.
func TestLaw(t *testing.T) {
	pure := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	zcdp := sitetest.New(t, sitetest.ClinicSchema, strings.Replace(sitetest.ClinicPolicy, "epsilon: 9000", "epsilon: 5000, delta: 1e-6", 1))
	laplace := func(sensitivity, epsilon float64) func(int64) float64 { return stattest.Laplace(sensitivity / epsilon) }
	gaussian := func(sensitivity, epsilon float64) func(int64) float64 {
		return stattest.Gaussian(math.Ceil(sensitivity * sensitivity / (epsilon * epsilon)))
	}
	for _, c := range []struct {
		name, sql            string
		site                 *sitetest.Site
		law                  func(sensitivity, epsilon float64) func(int64) float64
		sensitivity, epsilon float64
	}{
		{"laplace count", "SELECT count(*) FROM patients WHERE sex = 'f'", pure, laplace, 1, 0.1},
		{"laplace sum", "SELECT sum(birth_year) FROM patients WHERE region = 'north'", pure, laplace, 2010, 0.2},
		{"gaussian count", "SELECT count(*) FROM patients WHERE sex = 'f'", zcdp, gaussian, 1, 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var truth int64
			if err := sitetest.Dial(t, c.site.Data.URL("postgres", "postgres")).QueryRow(t.Context(), c.sql).Scan(&truth); err != nil {
				t.Fatal(err)
			}
			noise := sample(t, c.site.Run(t), fmt.Sprint(c.epsilon), c.sql, truth)
			if p := stattest.Fit(noise, c.law(c.sensitivity, c.epsilon)); p < stattest.Level {
				t.Errorf("the answers do not follow the law of the plan: p = %g", p)
			}
			for _, wrong := range []float64{1.5, 1 / 1.5} {
				if p := stattest.Fit(noise, c.law(c.sensitivity*wrong, c.epsilon)); p >= stattest.Level {
					t.Errorf("a sensitivity off by %.2f is not seen: p = %g", wrong, p)
				}
			}
		})
	}
}

// sample collects the noise of many answers, over a few connections.
func sample(t *testing.T, r *sitetest.Running, epsilon, sql string, truth int64) []int64 {
	t.Helper()
	const clients = 4
	noise := make([]int64, draws(t))
	var all sync.WaitGroup
	for i := range clients {
		conn := sitetest.Dial(t, r.URL("ana"))
		sitetest.Exec(t, conn, "SET dp.epsilon = "+epsilon)
		all.Go(func() {
			for k := i; k < len(noise); k += clients {
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
