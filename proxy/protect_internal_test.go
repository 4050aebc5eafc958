package proxy

import (
	"math/big"
	"testing"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/planner"
)

func TestProtectRefusesWhatThePlanCannotReturn(t *testing.T) {
	b := groupedCount(t)
	row := func(cells ...string) [][]byte {
		var out [][]byte
		for _, c := range cells {
			out = append(out, []byte(c))
		}
		return out
	}
	if exact, err := protect(b, [][][][]byte{{row("2", "7")}}); err != nil || len(exact.partitions) != 2 || len(exact.partitions[1].row) != 1 {
		t.Errorf("a good row: %v, %v", exact, err)
	}
	for name, rows := range map[string][][][]byte{
		"a partition twice":       {row("1", "7"), row("1", "8")},
		"a NULL key":              {{nil, []byte("7")}},
		"a key outside":           {row("3", "7")},
		"NULL that is not shown":  {row("0", "7")},
		"a measure that is NULL":  {{[]byte("1"), nil}},
		"a measure too few":       {row("1")},
		"a measure too many":      {row("1", "7", "8")},
		"a measure with decimals": {row("1", "7.5")},
	} {
		if exact, err := protect(b, [][][][]byte{rows}); err == nil {
			t.Errorf("%s: %v", name, exact)
		}
	}
}

// A private partition takes room for what was read of it, not for a whole histogram: how
// many there are is not known before.
func TestPrivatePartitionsAreSmall(t *testing.T) {
	part := partOf(t, "SELECT name, min(height) FROM people GROUP BY name")
	if !part.Private() || len(part.Mechanisms) < 1000 {
		t.Fatalf("private: %t, %d integers", part.Private(), len(part.Mechanisms))
	}
	exact, err := protect(part, [][][][]byte{{{[]byte("1"), []byte("9")}}, {{[]byte("1"), []byte("0"), []byte("2"), []byte("9")}}})
	if err != nil || len(exact.partitions) != 1 {
		t.Fatal(exact, err)
	}
	if n := len(exact.partitions[0].row); n != 1 {
		t.Errorf("a partition of one integer holds %d", n)
	}
}

// groupedCount plans SELECT sex, count(*) over a table with two public values.
func groupedCount(t *testing.T) *planner.Part {
	t.Helper()
	return partOf(t, "SELECT sex, count(*) FROM people GROUP BY sex")
}

// partOf plans a statement of one grouping set.
func partOf(t *testing.T, sql string) *planner.Part {
	t.Helper()
	cat := twoGroups(t)
	script, err := parser.Parse(sql, cat)
	if err != nil {
		t.Fatal(err)
	}
	q, err := planner.Analyze(cat, script.Statements[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := q.Bind(nil, planner.Settings{EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "laplace", Alpha: 0.05, Limits: planner.Limits{PublicFanout: 1, Work: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Blocks[0].Parts[0]
}

func twoGroups(t *testing.T) *planner.Catalog {
	t.Helper()
	name := catalog.Name{Schema: "public", Name: "people"}
	builtin := func(typ string, oid uint32) catalog.TypeRef {
		n := catalog.Name{Schema: "pg_catalog", Name: typ}
		return catalog.TypeRef{Name: n, OID: oid, Mod: -1, Display: typ, Base: n, BaseOID: oid, BaseMod: -1, Kind: 'b'}
	}
	cat, problems := planner.NewCatalog(
		planner.Policy{Unit: "person", Tables: []planner.TablePolicy{{
			Name: name, UnitColumn: "id", Columns: map[string]planner.ColumnPolicy{
				"sex": {Values: []string{"f", "m"}}, "height": {Bounds: &planner.Bounds{Low: new(big.Rat), High: big.NewRat(5000, 1), LowText: "0", HighText: "5000"}},
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
