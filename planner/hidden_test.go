package planner_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"dpproxy/parser"
	"dpproxy/planner/policy"
)

// TestHiddenColumnsAreUsed holds that a hidden column changes nothing in what is proved and
// read, and is in nothing that an analyst sees.
func TestHiddenColumnsAreUsed(t *testing.T) {
	conn := connect(t)
	shown, hidden := clinic(t), hiddenClinic(t, "id", "patient_id", "visit_id")
	for _, sql := range []string{
		"SELECT count(*) FROM patients",
		"SELECT diagnosis, sum(cost), count(DISTINCT cost) FROM visits GROUP BY diagnosis",
		"SELECT test, avg(value) FROM labs GROUP BY ROLLUP (test)",
		"SELECT region, count(*) FROM (SELECT region, sex FROM patients) p GROUP BY region",
	} {
		draw := func(cat *policy.Model) (reads []string, explained string) {
			plan, err := makePlan(t, conn, cat, parsed(t, cat, sql), &datadriven.TestData{})
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			for _, b := range plan.Blocks {
				for _, p := range b.Parts {
					for _, r := range p.Reads {
						reads = append(reads, r.SQL)
					}
				}
			}
			return reads, strings.Join(plan.Explain(nil), "\n")
		}
		want, named := draw(shown)
		got, unnamed := draw(hidden)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s reads (-want +got):\n%s", sql, d)
		}
		for _, name := range []string{`"id"`, `patient_id`, `visit_id`} {
			if strings.Contains(unnamed, name) {
				t.Errorf("%s: EXPLAIN names %s:\n%s", sql, name, unnamed)
			}
		}
		if named == unnamed {
			t.Errorf("%s: EXPLAIN does not name the unit of a policy that shows it:\n%s", sql, named)
		}
	}
}

// TestNamesOfHiddenColumns holds that EXPLAIN shows the same whatever a hidden column is
// called, also where SQL of our own has that name for something else.
func TestNamesOfHiddenColumns(t *testing.T) {
	conn := connect(t)
	explained := func(called string) string {
		p, s := clinicPolicy(), clinicSchema()
		visits := s.Tables[name("visits")]
		visits.Columns = append(visits.Columns, column(called, int4, false))
		p.Tables[1].Columns[called] = policy.ColumnPolicy{Hidden: true}
		cat := checkedBy(t, p, s)
		plan, err := makePlan(t, conn, cat, parsed(t, cat, "SELECT count(*) FROM visits v JOIN visits w USING (patient_id)"), &datadriven.TestData{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(plan.Explain(nil), "\n")
	}
	want := explained("secret")
	for _, called := range []string{"u", "n", "o", "u_"} {
		if d := cmp.Diff(want, explained(called)); d != "" {
			t.Errorf("a hidden column is called %s (-want +got):\n%s", called, d)
		}
	}
}

func parsed(t *testing.T, cat *policy.Model, sql string) *parser.Statement {
	t.Helper()
	script, err := parser.Parse(sql, cat)
	if err != nil {
		t.Fatal(err)
	}
	return script.Statements[0]
}
