package reader

import (
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
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
	if exact, err := protect(b, [][][][]byte{{row("2", "7")}}); err != nil || len(exact.partitions) != 2 ||
		len(exact.partitions[1].Row) != 1 {
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

// A private partition takes room for its rows, not for a whole histogram: the number of
// private partitions is not known before.
func TestPrivatePartitionsAreSmall(t *testing.T) {
	set := setOf(t, "SELECT name, min(height) FROM people GROUP BY name")
	if !set.Private() || len(set.Mechanisms) < 1000 {
		t.Fatalf("private: %t, %d integers", set.Private(), len(set.Mechanisms))
	}
	exact, err := protect(set, [][][][]byte{{{[]byte("1"), []byte("9")}}, {{[]byte("1"), []byte("0"), []byte("2"), []byte("9")}}})
	if err != nil || len(exact.partitions) != 1 {
		t.Fatal(exact, err)
	}
	if n := len(exact.partitions[0].Row); n != 1 {
		t.Errorf("a partition of one integer holds %d", n)
	}
}

// groupedCount plans SELECT sex, count(*) over a table with two public values.
func groupedCount(t *testing.T) *planner.GroupingSet {
	t.Helper()
	return setOf(t, "SELECT sex, count(*) FROM people GROUP BY sex")
}

// setOf plans a statement of one grouping set.
func setOf(t *testing.T, sql string) *planner.GroupingSet {
	t.Helper()
	return plantest.GroupingSet(t, sql, planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "laplace", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
}
