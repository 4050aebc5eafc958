package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/parser"
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
		script, err := parser.Parse(sql, clinic)
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
