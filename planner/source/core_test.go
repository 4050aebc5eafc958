package source_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/parser"
	"dpproxy/planner/policy"
	"dpproxy/planner/source"
)

// TestCore counts what package core judges of the goldens, and the refused ones that it accepts: there a statement is refused that could
// be answered.
func TestCore(t *testing.T) {
	for folder, of := range map[string]struct {
		model    *policy.Model
		accepted int
	}{
		"source":           {shop(t), 0},
		"nobody":           {shopOf(t, shopSchema(), 4, policy.NobodyRows), 0},
		"references":       {paidShop(t, shopSchema()), 0},
		"reference_tables": {sentShop(t, shopSchema()), 1},
	} {
		var c source.Compared
		datadriven.Walk(t, "testdata/"+folder, func(t *testing.T, path string) {
			datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
				compare(t, &c, of.model, d.Input)
				return d.Expected
			})
		})
		t.Log(folder, c.String())
		if c.Protected == 0 || c.Refusals == 0 || c.Accepted != of.accepted {
			t.Errorf("%s: %s, want %d", folder, c.String(), of.accepted)
		}
	}
}

// compare adds the levels of a statement.
func compare(t *testing.T, c *source.Compared, cat *policy.Model, sql string) {
	t.Helper()
	before := len(c.Notes)
	script, err := parser.Parse(sql, cat)
	if err != nil || script.Statements[0].Refusal != nil {
		return
	}
	for _, b := range script.Statements[0].Blocks {
		if b.Err == nil {
			c.Compare(cat, b)
		}
	}
	if len(c.Notes) > before && os.Getenv("DPPROXY_NOTES") != "" {
		t.Logf("%s\n  %s", sql, strings.Join(c.Notes[before:], "\n  "))
	}
}
