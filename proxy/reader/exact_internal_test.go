package reader

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/fold"
	"dpproxy/internal/plantest"
	"dpproxy/mechanisms"
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

// A private partition takes room for its rows, and not for a whole histogram: the number of private partitions is not known before.
func TestPrivatePartitionsAreSmall(t *testing.T) {
	set := setOf(t, "SELECT name, min(height) FROM people GROUP BY name")
	if !set.Private() || set.Integers() < 1000 {
		t.Fatalf("private: %t, %d integers", set.Private(), set.Integers())
	}
	exact, err := protect(set, [][][][]byte{{{[]byte("1"), []byte("999999")}}, {{[]byte("1"), []byte("0"), []byte("2"), []byte("9")}}})
	if err != nil || len(exact.partitions) != 1 {
		t.Fatal(exact, err)
	}
	if n := len(exact.partitions[0].Row); n != 1 {
		t.Errorf("a partition of one integer holds %d", n)
	}
}

// take collects rows of one read.
func take(set *planner.GroupingSet, rows ...planner.Row) (*Exact, error) { return takeReads(set, rows) }

func takeReads(set *planner.GroupingSet, reads ...[]planner.Row) (*Exact, error) {
	c := NewCollector(set, mechanisms.NewSource())
	for i, rows := range reads {
		for _, r := range rows {
			if err := c.Take(i, r); err != nil && !errors.Is(err, fold.ErrSkipped) {
				return nil, err
			}
		}
	}
	return c.Exact()
}

func texts(all ...string) (out [][]byte) {
	for _, text := range all {
		out = append(out, []byte(text))
	}
	return out
}

// cell is the first integer of a row, with directions unless they are empty.
func cell(sum, directions string) planner.Cell {
	c := planner.Cell{Sum: []byte(sum)}
	if directions != "" {
		c.Directions = []byte(directions)
	}
	return c
}

// TestMeasured puts rows of several levels together: units count over all partitions, integers in their own partition.
func TestMeasured(t *testing.T) {
	set := setOf(t, "SELECT ward, count(*) FROM visits GROUP BY ward")
	if len(set.Measures) != 1 || set.Integers() != 1 {
		t.Fatalf("%d measures of %d integers", len(set.Measures), set.Integers())
	}
	grid := set.Measures[0].Norms[0].Grid
	level := func(key string, level int, units, sum, directions string) planner.Row {
		return planner.Row{Keys: texts(key), Levels: []int{level}, Units: []byte(units), Cells: []planner.Cell{cell(sum, directions)}}
	}
	const secret = 7700077
	exact, err := take(set,
		level("1", 0, fmt.Sprint(secret), "3", ""), level("1", 5, "2", "11", "1500000"), level("2", 5, "0", "4", "500000"))
	if err != nil {
		t.Fatal(err)
	}
	reveal := func(p mechanisms.Private) int64 { return mechanisms.Release(silent{}, nil, p).Int().Int64() }
	units := exact.Units(0, 0)
	for j, want := range []int64{2, 2, 2, 2, 2, 0} {
		if got := reveal(units.Above(0, grid.Len())[j]); got != want {
			t.Errorf("%d units are above limit %d, want %d", got, j, want)
		}
	}
	for j, want := range [][2]int64{{3<<20 + 1500000, 500000}, {3<<20 + 2*1500000, 2 * 500000}} {
		for i, p := range exact.partitions {
			if got := reveal(p.At(set, 0, []planner.Clip{{Levels: []int{j}}})); got != want[i] {
				t.Errorf("partition %d has %d at limit %d, want %d", i, got, j, want[i])
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if got := fmt.Sprintf(verb, *exact); strings.Contains(got, "500000") || strings.Contains(got, fmt.Sprint(secret)) {
			t.Errorf("under %s it prints as %s", verb, got)
		}
	}
}

// silent is a mechanism without noise.
type silent struct{ mechanisms.Mechanism }

func (silent) Sample(z *big.Int, _ mechanisms.Source) *big.Int { return z.SetInt64(0) }

// TestImpossibleRows refuses rows that no read of a measure has.
func TestImpossibleRows(t *testing.T) {
	set := setOf(t, "SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward")
	if len(set.Measures) != 2 {
		t.Fatalf("%d measures", len(set.Measures))
	}
	most := set.Measures[0].Norms[0].Grid.Len()
	good := func() planner.Row {
		return planner.Row{Keys: texts("1"), Levels: []int{2}, Units: []byte("3"), Cells: []planner.Cell{cell("7", "9")}}
	}
	if _, err := take(set, good()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*planner.Row){
		"an unknown measure":            func(r *planner.Row) { r.Measure = 2 },
		"a measure below all":           func(r *planner.Row) { r.Measure = -2 },
		"an unknown vector":             func(r *planner.Row) { r.Vector = 1 },
		"no level":                      func(r *planner.Row) { r.Levels = nil },
		"two levels":                    func(r *planner.Row) { r.Levels = []int{2, 2} },
		"a level outside of the grid":   func(r *planner.Row) { r.Levels = []int{most + 1} },
		"a level below the grid":        func(r *planner.Row) { r.Levels = []int{-2} },
		"no directions":                 func(r *planner.Row) { r.Cells[0].Directions = nil },
		"directions with decimals":      func(r *planner.Row) { r.Cells[0].Directions = []byte("1.5") },
		"no sum":                        func(r *planner.Row) { r.Cells[0].Sum = nil },
		"units with decimals":           func(r *planner.Row) { r.Units = []byte("1.5") },
		"fewer than no units":           func(r *planner.Row) { r.Units = []byte("-1") },
		"an integer of another measure": func(r *planner.Row) { r.Cells[0].At = 1 },
		"an unknown integer":            func(r *planner.Row) { r.Cells[0].At = 2 },
		"an integer below all":          func(r *planner.Row) { r.Cells[0].At = -1 },
		"an integer of no measure":      func(r *planner.Row) { r.Measure, r.Levels, r.Units = -1, nil, nil },
		"units of no measure":           func(r *planner.Row) { r.Measure, r.Levels, r.Cells = -1, nil, nil },
		"an integer twice":              func(r *planner.Row) { r.Cells = append(r.Cells, r.Cells[0]) },
		"weights of public keys":        func(r *planner.Row) { r.Weights = []byte("1") },
		"a key outside":                 func(r *planner.Row) { r.Keys = texts("3") },
	} {
		r := good()
		change(&r)
		if exact, err := take(set, r); err == nil {
			t.Errorf("%s: %v", name, exact)
		}
	}
	if _, err := take(set, good(), good()); err == nil {
		t.Error("a row twice is taken")
	}
	units := good()
	units.Keys, units.Cells = texts("2"), nil
	if _, err := takeReads(set, []planner.Row{good()}, []planner.Row{units}); err == nil {
		t.Error("units of two reads are taken, which may count one twice")
	}
}

// TestWeights tries selection on the weights, which come first of a partition, in the first read.
func TestWeights(t *testing.T) {
	set := setOf(t, "SELECT reason, count(*) FROM visits GROUP BY reason")
	weights := func(key, n string) planner.Row {
		return planner.Row{Keys: texts(key), Measure: -1, Weights: []byte(n)}
	}
	level := func(key string, level int) planner.Row {
		return planner.Row{Keys: texts(key), Levels: []int{level}, Units: []byte("1"), Cells: []planner.Cell{cell("7", "9")}}
	}
	const many = "1000000000000"
	// Integers that come before the weights of a partition, or without them, belong to no partition. Units count all the same.
	exact, err := take(set, level("a", 2), weights("b", many), weights("a", many), weights("c", "0"), level("a", 3), level("c", 3),
		level("b", 4), level("other", 5))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	_, partitions := exact.Shown()
	for _, p := range partitions {
		n := mechanisms.Release(silent{}, nil, p.At(set, 0, []planner.Clip{{Levels: []int{9}}})).Int()
		shown = append(shown, *p.keys[0]+" "+n.String())
	}
	if got := strings.Join(shown, ", "); got != "a 7340032, b 7340032" {
		t.Errorf("shown: %s", got)
	}
	if n := mechanisms.Release(silent{}, nil, exact.Units(0, 0).Beyond([]int{0})).Int().Int64(); n != 5 {
		t.Errorf("%d units", n)
	}
	again := level("a", 3)
	again.Weights = []byte("1")
	for name, rows := range map[string][][]planner.Row{
		"weights twice":              {{weights("a", many), weights("a", many)}},
		"weights of another read":    {nil, {weights("a", many)}},
		"weights of a measure":       {{again}},
		"a weight below zero":        {{weights("a", "-1")}},
		"a weight that is no number": {{weights("a", "x")}},
	} {
		if exact, err := takeReads(set, rows...); err == nil {
			t.Errorf("%s: %v", name, exact)
		}
	}
}

// groupedCount plans SELECT sex, count(*) over a table with two public values.
func groupedCount(t *testing.T) *planner.GroupingSet {
	t.Helper()
	return setOf(t, "SELECT sex, count(*) FROM people GROUP BY sex")
}

// TestUnitsOfThreeNorms distinguishes units of different levels of each of three norms.
func TestUnitsOfThreeNorms(t *testing.T) {
	set := setOf(t, "SELECT ward, corr(cost, cost * cost) FROM visits GROUP BY ward")
	m := set.Measures[0]
	if len(m.Norms) != 3 {
		t.Fatalf("%d norms", len(m.Norms))
	}
	var rows []planner.Row
	for i, levels := range [][]int{{0, 1, 2}, {0, 3, 2}, {0, 1, 4}} {
		rows = append(rows, planner.Row{Keys: texts("1"), Levels: levels, Units: []byte(fmt.Sprint(1 + i*i*10))})
	}
	exact, err := take(set, rows...)
	if err != nil {
		t.Fatal(err)
	}
	for norm, want := range []map[int]int64{1: {0: 53, 1: 11, 3: 0}, 2: {1: 53, 2: 41, 4: 0}} {
		above := exact.Units(0, 0).Above(norm, 6)
		for level, n := range want {
			if got := mechanisms.Release(silent{}, nil, above[level]).Int().Int64(); got != n {
				t.Errorf("%d units are above level %d of norm %d, want %d", got, level, norm, n)
			}
		}
	}
}

// setOf plans a statement of one grouping set.
func setOf(t testing.TB, sql string) *planner.GroupingSet {
	t.Helper()
	return plantest.GroupingSet(t, sql, planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "laplace", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
}
