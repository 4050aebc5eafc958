package planner_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// TestHiddenColumnsAreUsed holds that a hidden column changes no proof and
// no read, and is in nothing that an analyst sees.
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
				for _, p := range b.Sets {
					for _, r := range p.Reads {
						reads = append(reads, r.SQL)
					}
				}
			}
			return reads, strings.Join(plan.ExplainVerbose(nil), "\n")
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
		plan, err := makePlan(t, conn, cat, parsed(t, cat, "SELECT count(*) FROM visits v "+
			"JOIN visits w USING (patient_id)"), &datadriven.TestData{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(plan.ExplainVerbose(nil), "\n")
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
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil {
		t.Fatal(err)
	}
	return script.Statements[0]
}

// concealedClinic returns a clinic with views whose queries no analyst may see.
func concealedClinic(t *testing.T) *policy.Model {
	t.Helper()
	s := clinicSchema()
	for view, query := range map[string]string{
		"bills": "SELECT v.patient_id AS c1, v.diagnosis AS c2, v.cost AS c3 FROM public.visits v " +
			"JOIN public.hospitals h ON h.id = v.hospital_id",
		"tests": "SELECT l.test AS c1, l.value AS c2 FROM public.labs l",
		"large": "SELECT bills.c1, bills.c3 AS c2 FROM public.bills WHERE bills.c3 > 100",
		"sites": "SELECT sum(v.hospital_id) AS c1 FROM public.visits v",
		"apart": "SELECT DISTINCT v.patient_id AS c1, v.diagnosis AS c2 FROM public.visits v",
		"risen": "SELECT v.patient_id AS c1, v.hospital_id * 2 AS c2 FROM public.visits v",
		"pairs": "SELECT l.test AS c1 FROM public.labs l JOIN public.labs k ON k.visit_id = l.visit_id " +
			"JOIN public.labs m ON m.visit_id = l.visit_id JOIN public.labs n ON n.visit_id = l.visit_id " +
			"JOIN public.labs o ON o.visit_id = l.visit_id",
		"alone": "SELECT v.diagnosis AS c1, count(*) AS c2 FROM public.visits v GROUP BY v.diagnosis",
	} {
		v := &catalog.Table{Name: name(view), Kind: 'v', View: query}
		for _, c := range []string{"c1", "c2", "c3"} {
			if strings.Contains(query, "AS "+c) || strings.Contains(query, "bills."+c+",") {
				v.Columns = append(v.Columns, column(c, text, false))
			}
		}
		s.Tables[v.Name] = v
	}
	return checkedBy(t, clinicPolicy(), s)
}

// TestConcealedQuestions holds that no statement asks the same as one that reads a concealed view, though the same is read: that an answer
// is remembered for it would tell who guesses the query of the view.
func TestConcealedQuestions(t *testing.T) {
	conn, cat := connect(t), concealedClinic(t)
	planned := func(sql string) (sqls []string, questions [][]byte) {
		plan, err := makePlan(t, conn, cat, parsed(t, cat, sql), &datadriven.TestData{})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		for _, b := range plan.Blocks {
			for _, r := range b.Sets[0].Reads {
				sqls = append(sqls, r.SQL)
			}
			questions = append(questions, bytes.Join(b.Question(), []byte{0}))
			for _, part := range planner.PartsOf(b) {
				questions = append(questions, bytes.Join(part.Question(), []byte{0}))
			}
		}
		return sqls, questions
	}
	const guess = "(SELECT DISTINCT v.patient_id AS c1, v.diagnosis AS c2 FROM visits v) g"
	for _, tt := range [][2]string{
		{
			"SELECT count(*) FROM patients p LEFT JOIN apart r ON r.c1 = p.id",
			"SELECT count(*) FROM patients p LEFT JOIN " + guess + " ON g.c1 = p.id",
		},
		{
			"SELECT count(*) FROM (SELECT c1 FROM apart UNION ALL SELECT c1 FROM " + guess + ") x",
			"SELECT count(*) FROM (SELECT c1 FROM " + guess + " UNION ALL SELECT c1 FROM apart) x",
		},
		{"SELECT * FROM alone", "SELECT v.diagnosis AS c1, count(*) AS c2 FROM visits v GROUP BY v.diagnosis"},
	} {
		reads, questions := planned(tt[0])
		same, others := planned(tt[1])
		if d := cmp.Diff(reads, same); d != "" {
			t.Errorf("%s\n%s: they read something else:\n%s", tt[0], tt[1], d)
		}
		for i := range questions {
			if bytes.Equal(questions[i], others[i]) {
				t.Errorf("%s\n%s: they are one question", tt[0], tt[1])
			}
		}
		if again, once := planned(tt[0]); !slices.EqualFunc(once, questions, bytes.Equal) {
			t.Errorf("%s: another question each time: %q", tt[0], again)
		}
	}
}
