package proxy_test

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// TestTableDefaults asks without settings: each table has its own defaults, two tables have
// the more frugal ones of both, and a session's own settings come first.
func TestTableDefaults(t *testing.T) {
	w := accurate(t, func(cfg *proxy.Config) {
		cfg.Answers = proxy.Answers{}
		cfg.Defaults.TableDefaults = map[catalog.Name]proxy.TableDefaults{
			public("patients"): {RelativeError: 0.1, MaxEpsilonPico: 2 * dp.PicoPerUnit},
			public("visits"):   {EpsilonPico: dp.PicoPerUnit / 2},
			public("labs"):     {RelativeError: 0.2, MaxEpsilonPico: dp.PicoPerUnit},
		}
	}, large(t))
	ana := w.client(t, "ana")
	plan := func(sql string) string {
		var lines string
		if err := ana.QueryRow(t.Context(), "SELECT string_agg(value, E'\\n') FROM dp.plan($1) WHERE item = 'mechanism'",
			sql).Scan(&lines); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	const both = "SELECT count(DISTINCT p.id) FROM patients p JOIN visits v ON v.patient_id = p.id JOIN labs l ON l.visit_id = v.id"
	for _, c := range []struct{ set, sql, want string }{
		{"", "SELECT count(*) FROM patients", "error ± 10 % of the value, for at most ε = 2)"},
		{"", "SELECT count(*) FROM visits", "dp.epsilon = 0.5)"},
		{"", both, "error ± 20 % of the value, for at most ε = 1)"},
		{"dp.relative_error = 0.05", "SELECT count(*) FROM patients", "error ± 5 % of the value, for at most ε = 2)"},
		{"dp.relative_error = off", "SELECT count(*) FROM patients", "dp.epsilon = 1)"},
	} {
		if c.set != "" {
			ana.set(t, c.set)
		}
		if got := plan(c.sql); !strings.Contains(got, c.want) {
			t.Errorf("%s; %s: %s, want %s", c.set, c.sql, got, c.want)
		}
	}
}
