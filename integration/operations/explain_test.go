package operations_test

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestCheckExplain asks for advice on a policy, which quotes the place in it, and no number of rows.
func TestCheckExplain(t *testing.T) {
	chosen := strings.Replace(sitetest.ClinicPolicy, "    max_rows: 5\n    max_partitions: 3\n", "    max_rows: auto\n", 1)
	chosen = strings.Replace(chosen, "  labs:\n", "    derived: {squared: {is: cost * cost, bounds: [100, 400]}}\n  labs:\n", 1)
	s := sitetest.New(t, sitetest.ClinicSchema, chosen)
	s.Edit(t, ", day: {bounds: [2020-01-01, 2024-12-31]}}", "}\n    defaults: {dates: [2020-01-01, 2024-12-31]}")
	s.Edit(t, "analysts:", "defaults: {dates: [2010-01-01, 2024-12-31]}\nanalysts:")
	out := s.Command(t, "check", s.Policy, "--online", "--explain")
	for _, want := range []string{
		": tables.public.labs: no key proves that one patient has at most 5 rows in a group",
		": tables.public.visits: sums and averages need no bounds of cost any more",
		": tables.public.visits: few units: ",
		"count(*)    at most 5 rows            ± ", "birth_year)  one row, by a key         ± ", " C\n",
		"\nbounds of their own: cost [0, 100]\nbounds by tables.visits.defaults.dates, from 2020-01-01 to 2024-12-31: day\n",
		": warning: defaults.dates bounds no column: ",
		"  visits:\n", "\npublic groups, all of them shown: ",
		"\nsum(cost * cost)  at most C, C one of ", "\nbounds of expressions: squared (cost * cost) [100, 400]\n",
		"\nno groups of id, visit_id: a group for each value of this key would be rows of one patient\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if regexp.MustCompile(`\b1000\b`).MatchString(out) {
		t.Errorf("a number of rows is in\n%s", out)
	}
	if out := s.Command(t, "check", s.Policy, "--online"); strings.Contains(out, "few units") {
		t.Errorf("unasked:\n%s", out)
	}
	boundsOfExpressions(t, s)
}

// boundsOfExpressions asks for values of an expression that the policy bounds: they are clamped where they are summed, and as they are
// where they are compared.
func boundsOfExpressions(t *testing.T, s *sitetest.Site) {
	t.Helper()
	data := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	ana := sitetest.Dial(t, s.Run(t).URL("ana"))
	sitetest.Exec(t, ana, "SET dp.epsilon = 100")
	number := func(conn *pgx.Conn, sql string) (x float64) {
		if err := conn.QueryRow(t.Context(), sql).Scan(&x); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return x
	}
	const (
		clamped = "SELECT avg(LEAST(GREATEST(cost * cost, 100), 400))::float8 FROM visits"
		above50 = "SELECT count(*)::float8 FROM visits WHERE cost > 50"
	)
	for asked, want := range map[string]string{
		"avg(cost * cost)::float8 FROM visits":                                               clamped,
		"avg(c)::float8 FROM (SELECT cost * cost AS c FROM visits WHERE cost * cost > 50) v": clamped + " WHERE cost * cost > 50",
		"count(*)::float8 FROM (SELECT cost * cost AS c FROM visits) v WHERE c > 2500":       above50,
	} {
		if got, is := number(ana, "SELECT "+asked), number(data, want); math.Abs(got-is) > is/20 {
			t.Errorf("%s: %v, and it is %v", asked, got, is)
		}
	}
	var comment string
	const ofCost = "SELECT col_description(attrelid, attnum) FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attname = 'cost'"
	err := ana.QueryRow(t.Context(), ofCost).Scan(&comment)
	if want := "values are clamped to [0, 100]; squared: values of cost * cost are clamped to [100, 400]"; err != nil || comment != want {
		t.Errorf("the comment is %q, %v", comment, err)
	}
}
