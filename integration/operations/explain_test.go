package operations_test

import (
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
)

// TestCheckExplain asks for advice on a policy, which quotes the place in it, and no number of rows.
func TestCheckExplain(t *testing.T) {
	chosen := strings.Replace(sitetest.ClinicPolicy, "    max_rows: 5\n    max_partitions: 3\n", "    max_rows: auto\n", 1)
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
}
