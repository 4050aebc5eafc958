package source_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/parser"
	"dpproxy/planner"
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
		"reference_tables": {sentShop(t, shopSchema()), 0},
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
		for _, s := range c.Astray {
			t.Errorf("%s: %s", folder, s)
		}
	}
}

// TestGroups holds package core and the refusal of a sub-select against each other, for groups by any one or two columns of rows: both
// say of the same keys that a group can have rows of several units.
func TestGroups(t *testing.T) {
	count := map[bool]int{}
	for _, cat := range []*policy.Model{shop(t), shopOf(t, shopSchema(), 4, policy.NobodyRows)} {
		for _, from := range []string{
			"customers", "orders", "items", "profiles", "emails", "cards", "logins", "defects", "clicks",
			"orders o JOIN items i ON i.order_id = o.id", "customers c LEFT JOIN orders o ON o.customer_id = c.id",
			"orders WHERE customer_id = total", "(SELECT customer_id, day FROM orders UNION ALL SELECT customer_id, day FROM logins) d",
		} {
			script, err := parser.Parse("SELECT count(*) FROM "+from, planner.Names(cat))
			if err != nil {
				t.Fatal(err)
			}
			list, err := source.Groupings(cat, script.Statements[0].Blocks[0])
			if err != nil {
				t.Fatal(from, err)
			}
			for _, g := range list {
				if count[g.Refused]++; g.Refused != g.Judge {
					t.Errorf("%s, grouped by %s: refused: %v, by package core: %v", from, g.Keys, g.Refused, g.Judge)
				}
			}
		}
	}
	if t.Log(count); count[true] == 0 || count[false] == 0 {
		t.Error("it is always the same")
	}
}

// compare adds the levels of a statement.
func compare(t *testing.T, c *source.Compared, cat *policy.Model, sql string) {
	t.Helper()
	before := len(c.Notes)
	script, err := parser.Parse(sql, planner.Names(cat))
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
