package parser_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/parser/parsertest"
)

// TestWideLists parses lists of constants with many columns, of which only the last ones tell the last rows apart: the time is about
// that of lists of which the first column does. Each is timed beside the other, and the nearest pair counts: a load that comes and goes
// slows some pairs, and a list that takes longer all of them.
func TestWideLists(t *testing.T) {
	statement := func(repeats bool) string {
		rows := make([]string, 150)
		for i := range rows {
			row := make([]string, 400)
			for j := range row {
				row[j] = strconv.Itoa(i)
				if repeats && i == 149 && j < 399 {
					row[j] = "148"
				}
			}
			rows[i] = "(" + strings.Join(row, ", ") + ")"
		}
		return "SELECT count(*) FROM visits v JOIN (VALUES " + strings.Join(rows, ", ") + ") AS t ON t.column1 = v.id"
	}
	visits := parsertest.Schema{{Relation: ast.Relation{Schema: "public", Name: "visits", Protected: true, Columns: []string{"id"}}}}
	took := func(sql string) time.Duration {
		start := time.Now()
		if _, err := parser.Parse(sql, visits); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}
	plain, wide := statement(false), statement(true)
	nearest := math.Inf(1)
	for pairs := 0; pairs < 9 && nearest > 4; pairs++ {
		first := took(plain)
		nearest = min(nearest, float64(took(wide))/float64(first))
	}
	if nearest > 4 {
		t.Errorf("%.1f times what a list takes of which the first column tells all rows apart", nearest)
	}
}
