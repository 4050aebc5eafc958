// Package plantest plans statements over two small tables, for tests of the packages that execute a plan.
package plantest

import (
	"math/big"
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// GroupingSet plans a statement over people or visits that has one block with one grouping set.
func GroupingSet(t testing.TB, sql string, s planner.Settings) *planner.GroupingSet {
	t.Helper()
	return Block(t, sql, s).Sets[0]
}

// SmallGroupingSet is GroupingSet with a policy that declares the approximate number of people.
func SmallGroupingSet(t testing.TB, units int64, sql string, s planner.Settings) *planner.GroupingSet {
	t.Helper()
	return block(t, clinic(t, units), sql, s).Sets[0]
}

// Block plans a statement that has one block.
func Block(t testing.TB, sql string, s planner.Settings) *planner.BlockPlan {
	t.Helper()
	return block(t, People(t), sql, s)
}

func block(t testing.TB, cat *policy.Model, sql string, s planner.Settings) *planner.BlockPlan {
	t.Helper()
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil {
		t.Fatal(err)
	}
	q, err := planner.Analyze(nil, cat, script.Statements[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := q.Specialize(nil, nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Blocks[0]
}

// People returns the catalogue of a table of people, with two public values of sex, four of region and 30 of age, and of their visits, in
// two wards.
func People(t testing.TB) *policy.Model {
	t.Helper()
	return clinic(t, 0)
}

// clinic is People with an approximate number of people; 0 is undeclared.
func clinic(t testing.TB, units int64) *policy.Model {
	t.Helper()
	people, visits := catalog.Name{Schema: "public", Name: "people"}, catalog.Name{Schema: "public", Name: "visits"}
	bounds := policy.ColumnPolicy{Bounds: &policy.Bounds{Low: new(big.Rat), High: big.NewRat(5000, 1), LowText: "0", HighText: "5000"}}
	ages := policy.ColumnPolicy{Bounds: &policy.Bounds{
		Low: big.NewRat(1, 1), High: big.NewRat(30, 1), LowText: "1", HighText: "30",
	}}
	cat, problems := policy.Check(
		policy.Policy{Unit: "person", Units: units, Tables: []policy.TablePolicy{
			{Name: people, UnitColumn: "id", Columns: map[string]policy.ColumnPolicy{
				"sex": values("f", "m"), "region": values("e", "n", "s", "w"), "height": bounds, "age": ages,
			}},
			{Name: visits, UnitColumn: "person", Columns: map[string]policy.ColumnPolicy{"ward": values("a", "b"), "cost": bounds}},
		}},
		&catalog.Schema{Tables: map[catalog.Name]*catalog.Table{
			people: table(people, "id", number("id"), text("sex"), text("name"), number("height"), text("region"), number("age")),
			visits: table(visits, "visit", number("visit"), number("person"), text("ward"), text("reason"), number("cost")),
		}})
	if problems != nil {
		t.Fatal(problems)
	}
	return cat
}

func values(all ...string) policy.ColumnPolicy { return policy.ColumnPolicy{Values: all} }

func table(name catalog.Name, key string, columns ...catalog.Column) *catalog.Table {
	return &catalog.Table{
		Name: name, Kind: 'r', Keys: []catalog.Key{{Name: "pkey", Columns: []string{key}, Primary: true}}, Columns: columns,
	}
}

func number(name string) catalog.Column { return column(name, "int4", 23) }

func text(name string) catalog.Column { return column(name, "text", 25) }

func column(name, typ string, oid uint32) catalog.Column {
	n := catalog.Name{Schema: "pg_catalog", Name: typ}
	return catalog.Column{Name: name, NotNull: true, Deterministic: true, Type: catalog.TypeRef{
		Name: n, OID: oid, Mod: -1, Display: typ, Base: n, BaseOID: oid, BaseMod: -1, Kind: 'b',
	}}
}
