// Package plantest plans statements over one small table, for tests of the steps that take a plan.
package plantest

import (
	"math/big"
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// GroupingSet plans a statement over people that has one block of one grouping set.
func GroupingSet(t testing.TB, sql string, s planner.Settings) *planner.GroupingSet {
	t.Helper()
	return Block(t, sql, s).Sets[0]
}

// Block plans a statement over people that has one block.
func Block(t testing.TB, sql string, s planner.Settings) *planner.BlockPlan {
	t.Helper()
	cat := People(t)
	script, err := parser.Parse(sql, cat)
	if err != nil {
		t.Fatal(err)
	}
	q, err := planner.Analyze(cat, script.Statements[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := q.Specialize(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Blocks[0]
}

// People returns the catalogue of a table of people with two public values of sex.
func People(t testing.TB) *policy.Model {
	t.Helper()
	name := catalog.Name{Schema: "public", Name: "people"}
	builtin := func(typ string, oid uint32) catalog.TypeRef {
		n := catalog.Name{Schema: "pg_catalog", Name: typ}
		return catalog.TypeRef{Name: n, OID: oid, Mod: -1, Display: typ, Base: n, BaseOID: oid, BaseMod: -1, Kind: 'b'}
	}
	cat, problems := policy.Check(
		policy.Policy{Unit: "person", Tables: []policy.TablePolicy{{
			Name: name, UnitColumn: "id", Columns: map[string]policy.ColumnPolicy{
				"sex":    {Values: []string{"f", "m"}},
				"height": {Bounds: &policy.Bounds{Low: new(big.Rat), High: big.NewRat(5000, 1), LowText: "0", HighText: "5000"}},
			},
		}}},
		&catalog.Schema{Tables: map[catalog.Name]*catalog.Table{name: {
			Name: name, Kind: 'r', Keys: []catalog.Key{{Name: "pkey", Columns: []string{"id"}, Primary: true}},
			Columns: []catalog.Column{
				{Name: "id", Type: builtin("int4", 23), NotNull: true, Deterministic: true},
				{Name: "sex", Type: builtin("text", 25), NotNull: true, Deterministic: true},
				{Name: "name", Type: builtin("text", 25), NotNull: true, Deterministic: true},
				{Name: "height", Type: builtin("int4", 23), NotNull: true, Deterministic: true},
			},
		}}})
	if problems != nil {
		t.Fatal(problems)
	}
	return cat
}
