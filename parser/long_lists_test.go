package parser_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dpproxy/parser"
)

// TestWideLists parses lists of constants with many columns, of which only the last ones tell the last rows apart: the time is about
// that of lists of which the first column does.
func TestWideLists(t *testing.T) {
	took := func(repeats bool) time.Duration {
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
		visits := schema{{Schema: "public", Name: "visits", Protected: true, Columns: []string{"id"}}}
		sql := "SELECT count(*) FROM visits v JOIN (VALUES " + strings.Join(rows, ", ") + ") AS t ON t.column1 = v.id"
		times := make([]time.Duration, 3)
		for i := range times {
			start := time.Now()
			if _, err := parser.Parse(sql, visits); err != nil {
				t.Fatal(err)
			}
			times[i] = time.Since(start)
		}
		return slices.Min(times)
	}
	if plain, wide := took(false), took(true); wide > 4*plain {
		t.Errorf("%v, and %v where the first column tells all rows apart", wide, plain)
	}
}
