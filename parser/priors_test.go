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
		priors := script.Statements[0].Priors
		if len(priors) != 1 {
			t.Fatalf("%s: %d results are used", what, len(priors))
		}
		if err := priors[0].Fits(10); err != nil {
			t.Errorf("%s of 10 groups: %v", what, err)
		}
		if priors[0].Fits(300) == nil {
			t.Errorf("%s of 300 groups is written out", what)
		}
	}
}

// TestRankOfAReleasedValue ranks a row at a released value: by percent_rank it is below what is above that value, by cume_dist, which
// counts the rows that are equal, it is above what is below.
func TestRankOfAReleasedValue(t *testing.T) {
	released := parser.PriorResult{Names: []string{"cut"}, Types: []string{"integer"}, Rows: [][][]byte{{[]byte("7")}}}
	for over, want := range map[string]string{
		"percent_rank() OVER (ORDER BY cost)":      `WHEN (cost) <= CAST('7' AS integer)`,
		"percent_rank() OVER (ORDER BY cost DESC)": `WHEN (cost) >= CAST('7' AS integer)`,
		"cume_dist() OVER (ORDER BY cost)":         `WHEN (cost) < CAST('7' AS integer)`,
		"cume_dist() OVER (ORDER BY cost DESC)":    `WHEN (cost) > CAST('7' AS integer)`,
	} {
		script, err := parser.Parse("SELECT count(*) FROM (SELECT "+over+" AS r FROM visits) t WHERE r > 0.9", parsertest.Clinic)
		if err != nil || len(script.Statements[0].Priors) != 1 {
			t.Fatal(over, err)
		}
		if got := script.Statements[0].Priors[0].Result(released); !strings.Contains(got, want) {
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
	if err != nil || len(script.Statements[0].Priors) != 1 {
		t.Fatal(err)
	}
	r := parser.PriorResult{Names: []string{"h", "d", "avg"}, Types: []string{"int4", "text", "int4"}, Rows: [][][]byte{
		{[]byte("1"), []byte("a"), []byte("10")},
		{[]byte("2"), []byte("b"), []byte("20")},
		{[]byte("3"), []byte("a"), nil},
		{[]byte("4"), nil, []byte("40")},
	}}
	prior := script.Statements[0].Priors[0]
	for typ, want := range map[string]string{
		"int4": "(CASE (v.diagnosis) WHEN CAST('a' AS text) THEN " +
			"CASE (v.hospital_id) WHEN CAST('1' AS int4) THEN CAST('10' AS int4) WHEN CAST('3' AS int4) THEN CAST(NULL AS int4) END " +
			"WHEN CAST('b' AS text) THEN CASE (v.hospital_id) WHEN CAST('2' AS int4) THEN CAST('20' AS int4) END END)",
		"numeric": "(CASE WHEN (v.hospital_id) = CAST('1' AS numeric) AND (v.diagnosis) = CAST('a' AS text) THEN CAST('10' AS int4) " +
			"WHEN (v.hospital_id) = CAST('2' AS numeric) AND (v.diagnosis) = CAST('b' AS text) THEN CAST('20' AS int4) " +
			"WHEN (v.hospital_id) = CAST('3' AS numeric) AND (v.diagnosis) = CAST('a' AS text) THEN CAST(NULL AS int4) END)",
	} {
		r.Types[0] = typ
		if got := prior.Result(r); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if n := r.Constants(2); n != 3+2+3 {
		t.Errorf("%d constants", n)
	}
}
