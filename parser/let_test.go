package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/parsertest"
)

// TestRepeatedExpressions writes a statement's own expressions for each group of a released result: only so many that they fit into a
// statement.
func TestRepeatedExpressions(t *testing.T) {
	long := "diagnosis || '" + strings.Repeat("x", 1000) + "'"
	const tiles = "SELECT count(*) FROM (SELECT ntile(2) OVER (PARTITION BY %s ORDER BY %s) AS q FROM visits) t WHERE q = 1"
	for what, sql := range map[string]string{
		"the key of a group": "SELECT count(*) FROM visits v " +
			"WHERE cost > (SELECT avg(cost) FROM visits w WHERE w.diagnosis = v." + long + ")",
		"a partition":    fmt.Sprintf(tiles, long, "cost"),
		"a ranked value": fmt.Sprintf(tiles, "diagnosis", long),
	} {
		script, err := parser.Parse(sql, parsertest.Clinic)
		if err != nil {
			t.Fatal(err)
		}
		l := script.Statements[0].Let
		if l == nil || len(l.Bindings) != 1 {
			t.Fatalf("%s: the statement uses no result", what)
		}
		if err := l.Bindings[0].Fits(10); err != nil {
			t.Errorf("%s of 10 groups: %v", what, err)
		}
		if l.Bindings[0].Fits(300) == nil {
			t.Errorf("%s of 300 groups is written out", what)
		}
	}
}

// TestOrigins finds the bytes of a binding and of a body in the statement, and the place of a result for those of the result.
func TestOrigins(t *testing.T) {
	const sql = "WITH m AS (SELECT max(cost) AS top FROM visits WHERE qty = 11) SELECT count(*) FROM visits " +
		"WHERE cost > (SELECT avg(cost) FROM visits, m WHERE cost < top AND qty = 22) AND qty = 33"
	script, err := parser.Parse(sql, parsertest.Clinic)
	if err != nil || script.Statements[0].Let == nil || len(script.Statements[0].Let.Bindings) != 2 {
		t.Fatal(err)
	}
	l := script.Statements[0].Let
	results := []parser.Constants{{SQL: "VALUES (1)"}, {SQL: "CAST('7' AS numeric)"}}
	first, second, body := l.Bindings[0].Query(results).SQL, l.Bindings[1].Query(results).SQL, l.Body(results).SQL
	for _, c := range []struct {
		text, word, at string
		origin         func(at int, results []parser.Constants) int
	}{
		{first, "qty = 11", "qty = 11", l.Bindings[0].Origin},
		{second, "qty = 22", "qty = 22", l.Bindings[1].Origin},
		{second, "VALUES", "SELECT max", l.Bindings[1].Origin},
		{second, "AS prior", "(SELECT avg", l.Bindings[1].Origin},
		{body, "qty = 33", "qty = 33", l.Origin},
		{body, "'7'", "(SELECT avg", l.Origin},
	} {
		if got, want := c.origin(strings.Index(c.text, c.word), results), strings.Index(sql, c.at); got != want {
			t.Errorf("%s of %s is at %d, want %d", c.word, c.text, got, want)
		}
	}
}

// TestUnknownResults marks the places of results that are not known, in a binding and in the body.
func TestUnknownResults(t *testing.T) {
	const sql = "/* all */ SELECT count(*) FROM visits " +
		"WHERE cost > (SELECT avg(cost) FROM visits WHERE cost < (SELECT max(cost) FROM visits)) AND qty = 33"
	script, err := parser.Parse(sql, parsertest.Clinic)
	if err != nil || script.Statements[0].Let == nil {
		t.Fatal(err)
	}
	l := script.Statements[0].Let
	unknown := parser.Result{Names: []string{"x"}, Types: []string{"numeric"}, Rows: [][][]byte{{nil}}, Unknown: true}
	results := []parser.Constants{l.Bindings[0].Constants(unknown), l.Bindings[1].Constants(unknown)}
	for _, text := range []parser.Text{l.Bindings[1].Query(results), l.Body(results)} {
		const mark = "CAST(NULL AS numeric)"
		if len(text.Unknown) != 1 || text.SQL[text.Unknown[0].Start:text.Unknown[0].End] != mark {
			t.Errorf("%q has %v", text.SQL, text.Unknown)
		}
		if known := (parser.Text{SQL: text.SQL}); known.Key() == text.Key() {
			t.Errorf("%q is one text, whether its result is known or not", text.SQL)
		}
	}
}

// TestRankOfAReleasedValue ranks a row at a released value: by percent_rank it is below what is above that value, by cume_dist, which
// counts the rows that are equal, it is above what is below.
func TestRankOfAReleasedValue(t *testing.T) {
	released := parser.Result{Names: []string{"cut"}, Types: []string{"integer"}, Rows: [][][]byte{{[]byte("7")}}}
	for over, want := range map[string]string{
		"percent_rank() OVER (ORDER BY cost)":      `WHEN (cost) <= CAST('7' AS integer)`,
		"percent_rank() OVER (ORDER BY cost DESC)": `WHEN (cost) >= CAST('7' AS integer)`,
		"cume_dist() OVER (ORDER BY cost)":         `WHEN (cost) < CAST('7' AS integer)`,
		"cume_dist() OVER (ORDER BY cost DESC)":    `WHEN (cost) > CAST('7' AS integer)`,
	} {
		script, err := parser.Parse("SELECT count(*) FROM (SELECT "+over+" AS r FROM visits) t WHERE r > 0.9", parsertest.Clinic)
		if err != nil || script.Statements[0].Let == nil {
			t.Fatal(over, err)
		}
		if got := script.Statements[0].Let.Bindings[0].Constants(released).SQL; !strings.Contains(got, want) {
			t.Errorf("%s is told by %s", over, got)
		}
	}
}

// TestChoiceOfGroups has one CASE for each key, those with few values outside, so that no key is written for each group. Where equal values
// can be spelled in several ways, all keys are compared for each group.
func TestChoiceOfGroups(t *testing.T) {
	const sql = "SELECT count(*) FROM visits v WHERE cost > " +
		"(SELECT avg(cost) FROM visits w WHERE w.hospital_id = v.hospital_id AND w.diagnosis = v.diagnosis)"
	script, err := parser.Parse(sql, parsertest.Clinic)
	if err != nil || script.Statements[0].Let == nil {
		t.Fatal(err)
	}
	r := parser.Result{Names: []string{"h", "d", "avg"}, Types: []string{"int4", "text", "int4"}, Rows: [][][]byte{
		{[]byte("1"), []byte("a"), []byte("10")},
		{[]byte("2"), []byte("b"), []byte("20")},
		{[]byte("3"), []byte("a"), nil},
		{[]byte("4"), nil, []byte("40")},
	}}
	binding := script.Statements[0].Let.Bindings[0]
	for typ, want := range map[string]string{
		"int4": "(CASE (v.diagnosis) WHEN CAST('a' AS text) THEN " +
			"CASE (v.hospital_id) WHEN CAST('1' AS int4) THEN CAST('10' AS int4) WHEN CAST('3' AS int4) THEN CAST(NULL AS int4) END " +
			"WHEN CAST('b' AS text) THEN CASE (v.hospital_id) WHEN CAST('2' AS int4) THEN CAST('20' AS int4) END END)",
		"numeric": "(CASE WHEN (v.hospital_id) = CAST('1' AS numeric) AND (v.diagnosis) = CAST('a' AS text) THEN CAST('10' AS int4) " +
			"WHEN (v.hospital_id) = CAST('2' AS numeric) AND (v.diagnosis) = CAST('b' AS text) THEN CAST('20' AS int4) " +
			"WHEN (v.hospital_id) = CAST('3' AS numeric) AND (v.diagnosis) = CAST('a' AS text) THEN CAST(NULL AS int4) END)",
	} {
		r.Types[0] = typ
		if got := binding.Constants(r).SQL; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if n := r.Different(2); n != 3+2+3 {
		t.Errorf("%d constants", n)
	}
}
