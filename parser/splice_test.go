package parser_test

import (
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/parsertest"
	"dpproxy/pgerr"
)

// TestProof: whatever the tokens say wrongly, a statement is either spliced as
// it should be or refused. Each shift moves the end of one token.
func TestProof(t *testing.T) {
	for _, sql := range []string{
		"WITH v AS (SELECT id FROM visits) SELECT region||'x', count( * ) n FROM patients GROUP BY region HAVING count(*)>3 " +
			"ORDER BY max(id) ",
		"SELECT sex, grouping( sex,region )+1, count(*) FROM patients GROUP BY ROLLUP(sex, region) ORDER BY grouping(region)",
		"SELECT region, rank() OVER (ORDER BY avg(id) DESC) FROM patients GROUP BY region ORDER BY avg(id) DESC, 1 LIMIT 5",
		"SELECT DISTINCT region||'x', sex FROM patients ORDER BY patients.sex",
		"SELECT b.n, count(*) OVER () FROM public.by_region b, towns, (SELECT count(*) FROM dear_visits) d WHERE b.n > 3",
	} {
		proof(t, sql)
	}
}

func proof(t *testing.T, sql string) {
	t.Helper()
	script, err := parser.Parse(sql, parsertest.Clinic)
	if err != nil {
		t.Fatal(err)
	}
	want := script.Statements[0].Splice(empty)
	spans, err := parser.Tokens(sql)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range spans {
		for _, shift := range []int{-1, 1, 2} {
			s, err := parser.ParseTampered(sql, parsertest.Clinic, i, shift)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case s.Class == parser.Refused && s.Refusal.Code == pgerr.Internal:
				refused++
			case s.Class == parser.Release && parser.SameTree(s.Splice(empty), want):
			default:
				t.Errorf("token %d, shift %d: class %s: %s", i, shift, classes[s.Class], s.Splice(empty))
			}
		}
	}
	if refused == 0 {
		t.Error("the proof refused nothing")
	}
}

func TestSameTree(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"SELECT a+b", "SELECT  a /* c */ +\nb", true},
		{"SELECT NULLS FROM t ORDER BY 1 NULLS LAST", "SELECT NULLS FROM t ORDER BY 1 NULLS /* x */ LAST", true},
		{"SELECT 'a' \n'b'", "SELECT 'ab'", true},
		{"SELECT 'a' /* */ \n'b'", "SELECT 'ab'", false},
		{"SELECT a+b", "SELECT a-b", false},
		{"SELECT a AS b", "SELECT a", false},
		{"SELECT (a)", "SELECT a", true},
		{"SELECT a.b", "SELECT b", false},
		{"SELECT 0", "SELECT NULL", false},
		{"SELECT 0", "SELECT false", false},
		{"SELECT ''", "SELECT NULL", false},
		{"SELECT 1", "SELECT 1; SELECT 1", false},
		{"SELECT 1", "SELECT '1'", false},
		{"SELECT f(a), b", "SELECT f(a, b)", false},
		{"SELECT ((a, b), c)", "SELECT (a, (b, c))", false},
	} {
		if got := parser.SameTree(c.a, c.b); got != c.want {
			t.Errorf("%s | %s: %t", c.a, c.b, got)
		}
	}
}

// TestSpliceFillsOnce: each block's relation stands in its own place, once.
func TestSpliceFillsOnce(t *testing.T) {
	script, err := parser.Parse("SELECT (SELECT count(*) FROM visits) + (SELECT count(*) FROM patients)", parsertest.Clinic)
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	got := script.Statements[0].Splice(func(i int) string {
		order = append(order, i)
		return placeholder(i)
	})
	const want = `SELECT (SELECT "dp$1".a1 AS "count" FROM <1> AS "dp$1" OFFSET 0)` +
		` + (SELECT "dp$2".a1 AS "count" FROM <2> AS "dp$2" OFFSET 0)`
	if got != want || len(order) != 2 || order[0] != 0 || order[1] != 1 {
		t.Errorf("%v %s", order, got)
	}
}

func TestInnerText(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT count(*) INTO TEMP TABLE x.t FROM visits":              "SELECT count(*)  FROM visits",
		" COPY (SELECT count(*) FROM visits ) TO STDOUT":               "SELECT count(*) FROM visits",
		"DECLARE c CURSOR FOR SELECT count(*) FROM visits":             "SELECT count(*) FROM visits",
		"EXPLAIN (COSTS off) SELECT count(*) FROM visits":              "SELECT count(*) FROM visits",
		"CREATE TEMP TABLE t AS SELECT count(*) FROM visits WITH DATA": "SELECT count(*) FROM visits",
		" SELECT count(*) FROM visits ":                                " SELECT count(*) FROM visits ",
	} {
		script, err := parser.Parse(sql, parsertest.Clinic)
		if err != nil {
			t.Fatal(err)
		}
		if got := script.Statements[0].InnerText(); got != want {
			t.Errorf("%s: %q", sql, got)
		}
	}
}
