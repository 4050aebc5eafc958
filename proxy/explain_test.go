package proxy_test

import (
	"strings"
	"testing"

	"dpproxy/proxy"
)

// TestVerbose holds that EXPLAIN shows no SQL, measure or price in ρ, whether an answer is remembered or not, that EXPLAIN VERBOSE shows
// the rest, and that dp.plan does as the statement in it.
func TestVerbose(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := connect(t, w.url("ana"))
	must(t, ana, "SET dp.mechanism = gaussian; SET dp.contribution = auto")
	const sql = "SELECT diagnosis, avg(cost) FROM visits GROUP BY diagnosis"
	must(t, ana, "PREPARE p AS "+sql)
	details := []string{"measure 1: ", "C is chosen: ", "FROM ONLY"}
	for range 2 {
		for _, explain := range []string{"EXPLAIN ", "EXPLAIN (VERBOSE off) ", "EXPLAIN VERBOSE ", "EXPLAIN (COSTS, VERBOSE) "} {
			for _, of := range []string{sql, "EXECUTE p"} {
				said := strings.Join(firstColumn(t, ana, explain+of), "\n")
				verbose := strings.Contains(explain, "VERBOSE") && !strings.Contains(explain, "off")
				for _, detail := range details {
					if strings.Contains(said, detail) != verbose {
						t.Errorf("%s%s has %q: %v\n%s", explain, of, detail, !verbose, said)
					}
				}
				if !verbose && strings.Contains(said, "ρ=") || !strings.Contains(said, "gaussian: ") {
					t.Errorf("%s%s has no shares:\n%s", explain, of, said)
				}
			}
			planned := strings.Join(firstColumn(t, ana, "SELECT item FROM dp.plan($$"+explain+sql+"$$)"), "\n")
			said := strings.Join(firstColumn(t, ana, explain+sql), "\n")
			if strings.Contains(planned, "measure 1") != strings.Contains(said, "measure 1") {
				t.Errorf("dp.plan of %s%s:\n%s", explain, sql, planned)
			}
		}
		must(t, ana, sql)
	}
}
