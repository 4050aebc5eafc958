package parser_test

import (
	"strings"
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/ast"
)

// nothing knows no relation.
type nothing struct{ ast.Strangers }

func (nothing) Relation(string, string) (ast.Relation, bool) { return ast.Relation{}, false }

func TestSurveyCalls(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT * FROM dp.survey('people', 'smoker', epsilon => 1)":                                     "people smoker 1  ",
		"SELECT asked FROM dp.survey('people', $$age > 5$$, 0.5, 'old', \"where\" => 'x') AS s LIMIT 1": "people age > 5 0.5 old x",
		"SELECT * FROM dp.survey(question => 'a''b', \"table\" => 'p', epsilon => '1'::numeric)":        "p a'b 1  ",
		"SELECT * FROM dp.survey('people', 'smoker', 1, NULL, NULL)":                                    "people smoker 1  ",
		"SELECT dp.survey('people', 'smoker', 1)":                                                       "",
		"EXPLAIN SELECT * FROM dp.survey('people', 'smoker', 1)":                                        "people smoker 1  ",
		"EXPLAIN (COSTS off) SELECT * FROM dp.survey('people', 'smoker', 1)":                            "people smoker 1  ",
		"CREATE TEMP TABLE t AS SELECT * FROM dp.survey('people', 'smoker', 1)":                         "",
		"SELECT * FROM survey('people', 'smoker', 1)":                                                   "",
	} {
		script, err := parser.Parse(sql, nothing{})
		if err != nil {
			t.Fatal(err)
		}
		st, got := script.Statements[0], ""
		if s := st.Survey; s != nil {
			if !strings.HasPrefix(st.InnerText(), "SELECT") {
				t.Errorf("%s: the query is said to be %q", sql, st.InnerText())
			}
			got = s.Table.Text + " " + s.Question.Text + " " + s.Epsilon + " " + s.Name.Text + " " + s.Where.Text
		}
		if got != want || st.Class != parser.Relay {
			t.Errorf("%s\n%q, want %q", sql, got, want)
		}
	}
}

func TestSurveyCallsRefused(t *testing.T) {
	for _, sql := range []string{
		"SELECT * FROM dp.survey('people', 'smoker')",
		"SELECT * FROM dp.survey('people', 'smoker', 1, 1)",
		"SELECT * FROM dp.survey('people', $1, 1)",
		"SELECT * FROM dp.survey('people', 'a' || 'b', 1)",
		"SELECT * FROM dp.survey('people', NULL, 1)",
		"SELECT * FROM dp.survey('people', 'smoker', 1, smoker => 1)",
		"SELECT * FROM dp.survey('people', 'smoker', 1, epsilon => 1)",
		"SELECT * FROM dp.survey('people', 'smoker', 1) a, dp.survey('people', 'age', 1) b",
		"SELECT * FROM pg_class, dp.survey('people', 'smoker', 1)",
		"WITH x AS (SELECT 1) SELECT * FROM dp.survey('people', 'smoker', 1)",
		"SELECT * INTO t FROM dp.survey('people', 'smoker', 1)",
		"SELECT * FROM dp.survey('people', 'smoker', 1) WITH ORDINALITY",
		"PREPARE s AS SELECT * FROM dp.survey('people', 'smoker', 1)",
		"PREPARE s (text) AS SELECT * FROM dp.survey('people', $1, 1)",
		"EXPLAIN ANALYZE SELECT * FROM dp.survey('people', 'smoker', 1)",
		"EXPLAIN (ANALYZE, COSTS off) SELECT * FROM dp.survey('people', 'smoker', 1)",
		"SELECT * FROM dp.survey('people', 'smoker', 1.7::int)",
		"SELECT * FROM dp.survey('people', 'smoker', 1.75::numeric(2,1))",
		"SELECT * FROM dp.survey('people'::char(3), 'smoker', 1)",
		"SELECT * FROM dp.survey('people'::varchar(3), 'smoker', 1)",
		"SELECT * FROM dp.survey('{people}'::text[], 'smoker', 1)",
	} {
		script, err := parser.Parse(sql, nothing{})
		if err != nil {
			t.Fatal(err)
		}
		st := script.Statements[0]
		// A name of a parameter that is a number is one all the same: Postgres says so.
		if st.Survey != nil && sql != "SELECT * FROM dp.survey('people', 'smoker', 1, 1)" {
			t.Errorf("%s: taken", sql)
		}
		if st.Class == parser.Refused && (st.Refusal.Hint == "" || st.Refusal.Position == 0) {
			t.Errorf("%s: %+v", sql, st.Refusal)
		}
	}
}

func TestQuestions(t *testing.T) {
	for text, want := range map[string]string{
		"smoker":                      "smoker",
		" ( smoker ) ":                "smoker",
		"Age+1":                       "age + 1",
		"1/(1+exp(-(0.5*age-3)))":     "1 / (1 + exp(- ((0.5 * age) - 3)))",
		"age BETWEEN 5 AND 6 AND sex": "age BETWEEN 5 AND 6 AND sex",
	} {
		q, refusal := parser.ParseQuestion(text)
		if refusal != nil || q.Normal != want {
			t.Errorf("%s: %+v %v, want %s", text, q, refusal, want)
			continue
		}
		if again, refusal := parser.ParseQuestion(q.Normal); refusal != nil || again.Normal != q.Normal {
			t.Errorf("%s: read again %+v %v", text, again, refusal)
		}
	}
	for _, text := range []string{
		"", "smoker, age", "smoker AS x", "smoker FROM people", "smoker; SELECT 1", "*", "(SELECT 1)", "age = $1", "age > CURRENT_DATE",
		"count(*)", "smoker -- x", "smoker /* x */", "smoker)", "'a", "people.*", "age COLLATE \"C\" = 'a'", "EXISTS (SELECT 1)",
		"smoker UNION SELECT 1", "DISTINCT smoker", "smoker ORDER BY 1", "ALL smoker", "row_number() OVER ()", "age IN (SELECT 1)", "x\x00",
		"smoker INTO t", "smoker LIMIT 1",
	} {
		if q, refusal := parser.ParseQuestion(text); refusal == nil && text != "ALL smoker" {
			t.Errorf("%q was taken: %+v", text, q)
		}
	}
}

// TestQuestionPlaces finds a mistake in the statement.
func TestQuestionPlaces(t *testing.T) {
	const sql = "SELECT * FROM dp.survey('people', 'age + lo(bmi)', 1)"
	script, err := parser.Parse(sql, nothing{})
	if err != nil {
		t.Fatal(err)
	}
	a := script.Statements[0].Survey.Question
	q, refusal := parser.ParseQuestion(a.Text)
	if refusal != nil {
		t.Fatal(refusal)
	}
	if at := a.Place(q.Expr.(*ast.Op).Right.Pos()); sql[at:at+2] != "lo" {
		t.Errorf("the place %d is that of %q", at, sql[at:])
	}
}
