package source_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/parser"
	"dpproxy/planner/policy"
	"dpproxy/planner/source"
)

// TestCore holds what is proved of the levels of the goldens against what package core derives of their terms. Core proves all of it
// but for bounds from the sizes of public tables, and for a person's identifier in a UNION ALL of rows that may be nobody's.
func TestCore(t *testing.T) {
	for folder, of := range map[string]struct {
		model  *policy.Model
		weaker map[string]int
	}{
		"source":           {shop(t), nil},
		"nobody":           {shopOf(t, shopSchema(), 4, policy.NobodyRows), nil},
		"references":       {paidShop(t, shopSchema()), nil},
		"reference_tables": {sentShop(t, shopSchema()), map[string]int{"refusal": 1}},
	} {
		var c source.Compared
		datadriven.Walk(t, "testdata/"+folder, func(t *testing.T, path string) {
			datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
				compare(t, &c, of.model, d.Input)
				return d.Expected
			})
		})
		t.Log(folder, c.String())
		if c.Levels == 0 || !maps.Equal(c.Weaker, of.weaker) {
			t.Errorf("%s: %d levels; core derives less: %v, want %v (DPPROXY_NOTES=1 tells more)", folder, c.Levels, c.Weaker, of.weaker)
		}
	}
}

// compare compares the levels of a statement.
func compare(t *testing.T, c *source.Compared, cat *policy.Model, sql string) {
	t.Helper()
	before := len(c.Notes)
	script, err := parser.Parse(sql, cat)
	if err != nil || script.Statements[0].Refusal != nil {
		return
	}
	for _, b := range script.Statements[0].Blocks {
		if b.Err == nil {
			_ = c.Compare(cat, b)
		}
	}
	if len(c.Notes) > before && os.Getenv("DPPROXY_NOTES") != "" {
		t.Logf("%s\n  %s", sql, strings.Join(c.Notes[before:], "\n  "))
	}
}
