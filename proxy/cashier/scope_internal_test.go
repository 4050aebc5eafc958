package cashier

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/internal/memledger"
	"dpproxy/planner/policy"
)

// TestPartitionsShareABudget holds that a partition debits the budget of its table, and
// that a statement on both debits it once.
func TestPartitionsShareABudget(t *testing.T) {
	sales, partition := catalog.Name{Schema: "public", Name: "sales"}, catalog.Name{Schema: "public", Name: "sales_2024"}
	integer := catalog.Name{Schema: "pg_catalog", Name: "int4"}
	columns := []catalog.Column{{
		Name: "uid", NotNull: true, Deterministic: true,
		Type: catalog.TypeRef{Name: integer, OID: 23, Mod: -1, Base: integer, BaseOID: 23, BaseMod: -1, Kind: 'b'},
	}}
	cat, problems := policy.Check(
		policy.Policy{Unit: "person", Tables: []policy.TablePolicy{{Name: sales, UnitColumn: "uid"}, {Name: partition, UnitColumn: "uid"}}},
		&catalog.Schema{Tables: map[catalog.Name]*catalog.Table{
			sales:     {Name: sales, Kind: 'p', Columns: columns, Children: []catalog.Name{partition}},
			partition: {Name: partition, Kind: 'r', Columns: columns, Parents: []catalog.Name{sales}, PartitionOf: sales},
		}})
	if problems != nil {
		t.Fatal(problems)
	}
	unit := accountant.Scope{Kind: accountant.UnitScope, Name: "person"}
	table := accountant.Scope{Kind: accountant.TableScope, Name: "public.sales"}
	one, err := dp.NewLoss(dp.ZCDP, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := memledger.New([]accountant.Limit{{Scope: unit, Loss: one}, {Scope: table, Loss: one}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(t.Context(), ledger, cat, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tables := range [][]catalog.Name{{sales}, {partition}, {sales, partition}, {partition, sales}} {
		if d := cmp.Diff([]accountant.Scope{unit, table}, c.Scopes("ana", false, tables)); d != "" {
			t.Errorf("%v (-want +got):\n%s", tables, d)
		}
	}
}
