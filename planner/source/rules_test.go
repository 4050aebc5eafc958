package source_test

import (
	"os"
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/source"
)

// partedShop is the shop with foreign keys from items and orders to parts, and another from parts to makers, which not every part has.
// Each line of an order has a depot of its own, in a partitioned table.
func partedShop(t *testing.T) *policy.Model {
	t.Helper()
	s := shopSchema()
	refers := func(from, column, to string) {
		of := s.Tables[name(from)]
		of.Foreign = append(of.Foreign, catalog.ForeignKey{
			Name: column, Columns: []string{column}, References: name(to), Target: []string{"id"},
		})
	}
	refers("items", "part_id", "parts")
	refers("orders", "id", "parts")
	refers("parts", "maker_id", "makers")
	s.Tables[name("depots")] = &catalog.Table{
		Name: name("depots"), Kind: 'p', Keys: []catalog.Key{{Name: "id", Columns: []string{"id"}}},
		Columns: []catalog.Column{column("id", int4, true), column("town", text, true)},
	}
	refers("items", "line", "depots")
	s.PublicRows = map[catalog.Name]int64{name("parts"): 2000, name("makers"): 50, name("old_parts"): 10, name("depots"): 10}
	p := shopPolicy(4)
	p.Tables = append(p.Tables, policy.TablePolicy{Name: name("depots"), Public: true})
	return checkedShop(t, p, s)
}

// TestRules draws what each rule does, in a file of its name, and the statements that it leaves alone. Without the rule the former are
// refused, or read in another way.
func TestRules(t *testing.T) {
	cat := partedShop(t)
	files, err := os.ReadDir("testdata/rules")
	if err != nil {
		t.Fatal(err)
	}
	var drawn []string
	for _, f := range files {
		drawn = append(drawn, f.Name())
		fired := 0
		datadriven.RunTest(t, "testdata/rules/"+f.Name(), func(t *testing.T, d *datadriven.TestData) string {
			left, without := d.HasArg("left"), ""
			d.CmdArgs = nil
			draw := func() string {
				out, err := drawSource(t, cat, d)
				if err != nil {
					return refusal(d.Input, err) + "\n"
				}
				return out
			}
			out := draw()
			source.Without(f.Name(), func() { without = draw() })
			switch {
			case left != (without == out):
				t.Errorf("%s: the rule is the reason: %t\n%s", d.Pos, left, out)
			case !left:
				fired++
			}
			return out
		})
		if fired == 0 {
			t.Errorf("%s: the rule does nothing", f.Name())
		}
	}
	rules := source.RuleNames()
	slices.Sort(rules)
	if !slices.Equal(rules, drawn) {
		t.Errorf("%q have a file, of the rules %q", drawn, rules)
	}
}

// A block is resolved again for each type of its parameters: rules do not change it.
func TestRulesKeepBlocks(t *testing.T) {
	cat := partedShop(t)
	const kind = "(SELECT p.kind FROM parts p WHERE p.id = i.part_id)"
	script, err := parser.Parse("SELECT "+kind+", count("+kind+" || 'x') FROM (SELECT order_id, part_id, "+kind+" AS k FROM items i WHERE "+
		kind+" > 'a') i WHERE "+kind+" || k > 'b' GROUP BY 1", planner.Names(cat))
	if err != nil {
		t.Fatal(err)
	}
	limits := policy.Limits{PublicFanout: 100, Work: 1_000_000, PublicRows: cat.PublicRows()}
	b := script.Statements[0].Blocks[0]
	where, group, arg := b.Where, b.Groups[0], b.Aggregates[0].Args[0]
	for range 2 {
		if _, err := source.Draw(cat, b, limits, literals); err != nil {
			t.Fatal(err)
		}
		if b.Where != where || b.Groups[0] != group || b.Aggregates[0].Args[0] != arg {
			t.Fatal("the block has other expressions")
		}
	}
}
