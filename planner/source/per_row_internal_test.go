package source

import (
	"strings"
	"testing"

	"dpproxy/parser/ast"
)

// LIMIT and OFFSET number the rows that they leave, from one.
func TestCounted(t *testing.T) {
	for want, limit := range map[string]ast.Limit{
		"<= 2":     {Rows: 2},
		"= 4":      {Rows: 1, Skipped: 3},
		"> 2 <= 5": {Rows: 3, Skipped: 2},
	} {
		var got []string
		for _, c := range conjunction((&perRow{}).counted(&ast.Column{Name: "n"}, &limit)) {
			op := c.(*ast.Op)
			got = append(got, op.Name, op.Right.(*ast.Const).Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("LIMIT %d OFFSET %d: %q, not %s", limit.Rows, limit.Skipped, got, want)
		}
	}
}
