package local_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

// TestDelta asks tiny questions under a budget with a δ: more of them are answered than their ε add up to. Giving the budget its δ
// takes a decision, and taking it away does not.
func TestDelta(t *testing.T) {
	small := strings.Replace(schema, "generate_series(1, 3000)", "generate_series(1, 300)", 1)
	s := sitetest.Make(t, sitetest.Options{
		Database: "clinic", Schema: small, Policy: strings.Replace(policy, "local_budget: 4", "local_budget: {epsilon: 1, delta: 1e-5}", 1),
	})
	s.Says(t, "against a change of values by epsilon 3 + 1 = 4, delta 1e-05 in all, and not against", "check", s.Policy)
	r := s.Run(t)
	conn := sitetest.Dial(t, r.URL("ana"))
	const sums, ask = 20, "SELECT answered || ' of 301, ' || loss_max * 100 FROM dp.survey('people', 'age * %d', 0.05)"
	for n := range sums + 2 {
		want := fmt.Sprintf("301 of 301, %d.00", 5*(n+1))
		if got := sitetest.Rows(t, conn, fmt.Sprintf(ask, n+2)); got != want && got+"0" != want && got+".00" != want {
			t.Fatalf("question %d: %s, want %s", n+1, got, want)
		}
	}
	const remaining = "SELECT bool_and(loss = 1.1 AND remaining > 0.05 AND remaining < 0.2)::text FROM local.people"
	if got := sitetest.Rows(t, conn, remaining); got != "true" {
		t.Errorf("what remains is wrong: %s", got)
	}
	r.Stop()
	s.Says(t, "local:public.people  ε=1 δ=1e-05  ε=1.1", "budget", "list", s.Policy)
	s.Edit(t, "local_budget: {epsilon: 1, delta: 1e-5}", "local_budget: 1")
	r = s.Run(t)
	refused := fmt.Sprintf(ask, 99)
	_, err := sitetest.Dial(t, r.URL("ana")).Exec(t.Context(), refused, pgx.QueryExecModeSimpleProtocol)
	sitetest.Fails(t, err, "PB001", "none of the 301 objects has so much of its budget left")
	r.Stop()
	s.Edit(t, "local_budget: 1", "local_budget: {epsilon: 1, delta: 1e-5}")
	if r := s.Start(t); r.Addr != "" || !strings.Contains(r.Log.String(), "takes an explicit raise") {
		t.Errorf("a policy gives a budget its delta back:\n%s", r.Log)
	}
	raise := []string{"budget", "raise", s.Policy, "--scope", "local:people", "--epsilon", "1", "--reason", "a test", "--who", "carol"}
	s.Refuses(t, "it is the chance of each object to be told", append(raise, "--delta", "0.1")...)
	s.Refuses(t, "--selection-delta is of central budgets", append(raise, "--delta", "1e-5", "--selection-delta", "1e-6")...)
	s.Says(t, "each object of public.people is limited to ε=1 δ=1e-05", append(raise, "--delta", "1e-5")...)
	r = s.Run(t)
	if got := sitetest.Rows(t, sitetest.Dial(t, r.URL("ana")), refused); !strings.HasPrefix(got, "301 ") {
		t.Errorf("after the decision: %s", got)
	}
}
