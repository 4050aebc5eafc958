package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/parser"
)

func TestEstimateCalls(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT * FROM dp.local_histogram('people', 'smoker')":                                 "false people smoker",
		"SELECT (dp.local_mean('people', $$age$$, confidence => 0.9)).*":                       "true people age 0.9",
		"SELECT * FROM dp.local_mean(expression => 'a''b', \"table\" => 'p'::text) m, t":       "true p a'b",
		"EXPLAIN WITH m AS (SELECT * FROM dp.local_histogram($2, $1::text, 0.8)) TABLE m":      "false $2 $1 0.8",
		"SELECT 1 WHERE 0.5 < (SELECT mean FROM dp.local_mean('p', 'a')) UNION SELECT 2":       "true p a",
		"SELECT * FROM dp.local_mean('p', 'a'), dp.local_histogram('q', 'b')":                  "true p a, false q b",
		"SELECT * FROM dp.local_mean('p', 'a' || 'b')":                                         "",
		"SELECT * FROM dp.local_mean('p', NULL)":                                               "",
		"SELECT * FROM dp.local_mean('p')":                                                     "",
		"SELECT * FROM dp.local_mean('p', column => 'a')":                                      "",
		"SELECT * FROM dp.local_mean('p', 'a', $1)":                                            "",
		"SELECT * FROM local_mean('p', 'a')":                                                   "",
		"PREPARE e AS SELECT * FROM dp.local_histogram('people', 'smoker'); EXECUTE e; SELECT": "false people smoker",
	} {
		script, err := parser.Parse(sql, nothing{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		text := func(a parser.Argument) string {
			if a.Param > 0 {
				return fmt.Sprint("$", a.Param)
			}
			if a.Plain && sql[a.At:a.At+len(a.Text)] != a.Text {
				t.Errorf("%s\n%q does not stand at %d", sql, a.Text, a.At)
			}
			return a.Text
		}
		for _, c := range script.Statements[0].Estimates {
			got = append(got, strings.TrimSpace(fmt.Sprint(c.Mean, " ", text(c.Table), " ", text(c.Question), " ", c.Confidence)))
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("%s\n%q, want %q", sql, all, want)
		}
	}
}
