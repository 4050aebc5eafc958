package fold

import (
	"context"
	"encoding/binary"
	"errors"
	"math/big"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// counting counts rows of units, whose numbers are texts, in buckets of one number.
func counting() Spec {
	return Spec{
		Unit: Column{Kind: Text}, Norm: Norm{Limits: []*big.Int{big.NewInt(0), big.NewInt(1), big.NewInt(5)}},
		Buckets: &Buckets{Number: Number{Kind: Whole, High: 9}, Grid: Grid{Width: 1}, Divisors: []int64{1}},
	}
}

func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// TestFull holds that rows that do not fit into memory are dropped and read once more, unit by unit, with the same result.
func TestFull(t *testing.T) {
	rows := make([][][]byte, 20*pieceSize)
	for i := range rows {
		rows[i] = [][]byte{number(i % 5000), number(i % 11)}
	}
	whole, once := folded(t, counting(), rows, 1<<30)
	bounded, twice := folded(t, counting(), rows, 1<<20)
	if once != 1 || twice != 2 {
		t.Errorf("%d and %d readings", once, twice)
	}
	if d := whole.differs(bounded); d != "" {
		t.Error(d)
	}
	spec := counting()
	f := New(&spec, secret, 1<<20)
	for _, row := range rows {
		if err := f.Take(row); err != nil {
			t.Fatal(err)
		}
	}
	if f.rows.size > 0 || f.units.size() > 0 {
		t.Errorf("%d rows and %d units are kept", f.rows.size, f.units.size())
	}
}

// TestDifferentValuesInRanges holds that values that do not fit into memory are counted in several readings.
func TestDifferentValuesInRanges(t *testing.T) {
	spec := counting()
	spec.Buckets, spec.Value = nil, Column{Kind: Plain}
	var rows [][][]byte
	for i := range 30_000 {
		rows = append(rows, [][]byte{number(i % 300), number(i % 20_001)})
	}
	whole, once := folded(t, spec, rows, 1<<30)
	bounded, several := folded(t, spec, rows, 1<<19)
	if once != 1 || several < 3 || several > 20 {
		t.Errorf("%d and %d readings", once, several)
	}
	if d := whole.differs(bounded); d != "" {
		t.Error(d)
	}
}

// TestOneUnitOfManyRows holds that the rows of one unit take no more memory than its groups and values.
func TestOneUnitOfManyRows(t *testing.T) {
	spec := counting()
	spec.ByUnit = true
	f := New(&spec, secret, 1<<20)
	for i := range 3_000_000 {
		if err := f.Take([][]byte{number(7), number(i % 8)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := cap(f.finishers[0].own); n > 4*mergeFrom {
		t.Errorf("%d entries for 8 values", n)
	}
	var rows int64
	if _, err := f.Finish(context.Background(), func(s Sum) error {
		rows += s.Rows
		return nil
	}, func(level int, n int64) error {
		if level != 3 || n != 1 {
			t.Errorf("%d units at level %d", n, level)
		}
		return nil
	}); err != nil || rows != 3_000_000 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// TestUnitsTakeTurns holds that units that come one after the other, with few different values each, use the same memory. The values of a
// unit are no longer in it when the next unit is there.
func TestUnitsTakeTurns(t *testing.T) {
	spec := counting()
	spec.Buckets, spec.Value, spec.ByUnit = nil, Column{Kind: Text}, true
	f := New(&spec, secret, 1<<30)
	take := func(units, values int) {
		for i := range units {
			for v := range values {
				if err := f.Take([][]byte{number(i), number(v)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	take(2, 6*pieceSize)
	for _, unit := range []string{"another", "another", "one more"} {
		if err := f.Take([][]byte{[]byte(unit), []byte("v" + unit[:len(unit)%2])}); err != nil {
			t.Fatal(err)
		}
	}
	take(1, 2)
	if err := f.Take([][]byte{[]byte("another"), []byte("v")}); err != nil {
		t.Fatal(err)
	}
	if n, m := cap(f.finishers[0].own), cap(f.finishers[0].order.ranked); n > keptEntries || m > keptEntries {
		t.Errorf("room for %d entries and %d things in an order", n, m)
	}
	used := f.values.keys.list[0]
	if n := f.values.bytes(); n > 2*(arenaSize+12*pieceSize) || slices.ContainsFunc(used[2:], func(b byte) bool { return b != 0 }) {
		t.Errorf("%d bytes of one value, %q", n, used[:20])
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	take(20_000, 3)
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 20_000; each > 1000 {
		t.Errorf("%d bytes for each unit of three values", each)
	}
}

// TestErrorsTellNothing holds that the errors of all rows that cannot be taken have one text, and the errors of defects another.
func TestErrorsTellNothing(t *testing.T) {
	spec := counting()
	spec.Keys = []Key{{Column: Column{Kind: Numeric}, Shown: Decimal}}
	for name, row := range map[string][][]byte{
		"nothing": {}, "too short": {number(1), numericOf(0, 0)}, "too long": {number(1), numericOf(0, 0), number(1), number(1)},
		"a numeric that is none": {number(1), {1, 2}, number(1)}, "a value that is none": {number(1), numericOf(0, 0), {1, 2, 3}},
		"a value that is NULL":             {number(1), numericOf(0, 0), nil},
		"a numeric of fewer digits":        {number(1), {0, 9, 0, 0, 0, 0, 0, 0, 0, 1}, number(1)},
		"a key that is no number of steps": {number(1), {0, 0, 0}, number(3)},
	} {
		if err := New(&spec, secret, 1<<30).Take(row); !errors.Is(err, errRow) {
			t.Errorf("%s: %v", name, err)
		}
	}
	spec = counting()
	spec.Buckets.Grid.Width = 0 // a defect: it has no cuts, and its numbers are not those of its buckets
	spec.Buckets.Grid.Below = 1 << 40
	spec.Buckets.Number = Number{Kind: Whole, High: 1 << 40}
	f := New(&spec, secret, 1<<30)
	f.units = nil
	if err := f.Take([][]byte{number(1), number(1)}); !errors.Is(err, errBroken) {
		t.Errorf("a defect: %v", err)
	}
}

// TestEnds holds that no unit is finished after the end of a context.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	spec := counting()
	f := New(&spec, secret, 1<<30)
	if err := f.Take([][]byte{number(1), number(1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Finish(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if f.rows.size > 0 || slices.ContainsFunc(f.finishers[0].own, func(e entry) bool { return e != entry{} }) {
		t.Error("rows are kept")
	}
}

// TestNothingIsKept holds that no piece of memory has a unit's bytes when a Fold has finished.
func TestNothingIsKept(t *testing.T) {
	spec := counting()
	f := New(&spec, secret, 1<<30)
	unit := []byte("somebody")
	if err := f.Take([][]byte{unit, number(1)}); err != nil {
		t.Fatal(err)
	}
	kept := f.units.keys.list[0]
	last, scratch := f.lastUnit, f.scratch[:cap(f.scratch)]
	if !strings.Contains(string(kept), "somebody") || !strings.Contains(string(last), "somebody") {
		t.Fatalf("the test looks at the wrong memory")
	}
	none := func(Sum) error { return nil }
	if _, err := f.Finish(context.Background(), none, func(int, int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"units": kept, "last unit": last, "scratch": scratch} {
		if strings.Contains(string(b), "somebody") {
			t.Errorf("%s: %q", name, b)
		}
	}
}

// TestTablesGrowInParts holds that a look-up takes work for a small part of a table at most, and that each part grows at a size of its own.
func TestTablesGrowInParts(t *testing.T) {
	const entries = 1 << 18
	table := newTable(manyParts)
	worst, slots := 0, 0
	for i := range entries {
		before := table.slots
		if n := table.number(number(i)); n != uint32(i) {
			t.Fatalf("%d is number %d", i, n)
		}
		if grown := table.slots - before; grown > 0 {
			worst, slots = max(worst, grown), slots+1
		}
	}
	if most := 4 * 2 * entries / manyParts; worst > most {
		t.Errorf("a row made %d slots, more than %d", worst, most)
	}
	sizes := map[int]bool{}
	for _, p := range table.parts {
		sizes[p.most] = true
	}
	if len(sizes) < 20 {
		t.Errorf("%d parts grow at %d sizes", manyParts, len(sizes))
	}
	for i := range entries {
		if n := table.number(number(i)); n != uint32(i) {
			t.Fatalf("%d is number %d", i, n)
		}
	}
}

// TestLinesSayAll holds that no part of a Spec can change without a word: answers are remembered by these words.
func TestLinesSayAll(t *testing.T) {
	spec := func() *Spec {
		s := counting()
		s.Keys, s.Groups = []Key{{Column: Column{Kind: Text}, Shown: Same}, {Column: Column{Kind: Plain}, Shown: Numbered, List: 1}}, 2
		s.Lists = []List{{Column: Column{Kind: Text}}, {Column: Column{Kind: Plain}}}
		s.Buckets.Grid = Grid{Low: 1, Cuts: []int64{4, 8}, Each: 2, First: 0, Below: 0}
		s.Buckets.Divisors = []int64{2, 1}
		s.Buckets.Number = Number{Kind: DecimalNumber, Low: 1, High: 9, Decimals: 2}
		return &s
	}
	said := strings.Join(spec().Lines(), "\n")
	for name, change := range map[string]func(*Spec){
		"Unit": func(s *Spec) { s.Unit.Kind = Padded }, "Hashed": func(s *Spec) { s.Unit.Hashed = true },
		"Keys": func(s *Spec) { s.Keys = nil }, "Key.Kind": func(s *Spec) { s.Keys[0].Kind = Numeric },
		"Key.List": func(s *Spec) { s.Keys[1].List = 0 }, "List.Null": func(s *Spec) { s.Lists[1].Null = true },
		"List.Column": func(s *Spec) {
			s.Buckets.Number.Kind = Position
			s.Lists[1].Kind = Numeric
		},
		"Key.Shown": func(s *Spec) { s.Keys[0].Shown = Behind }, "Groups": func(s *Spec) { s.Groups++ },
		"Norm.Squared": func(s *Spec) { s.Norm.Squared = true }, "Norm.Limits": func(s *Spec) { s.Norm.Limits = s.Norm.Limits[1:] },
		"Buckets": func(s *Spec) { s.Buckets = nil }, "Number.Kind": func(s *Spec) { s.Buckets.Number.Kind = Days },
		"Number.Low": func(s *Spec) { s.Buckets.Number.Low-- }, "Number.High": func(s *Spec) { s.Buckets.Number.High++ },
		"Number.Decimals": func(s *Spec) { s.Buckets.Number.Decimals++ }, "Grid.Low": func(s *Spec) { s.Buckets.Grid.Low-- },
		"Grid.Width": func(s *Spec) { s.Buckets.Grid.Width = 3 }, "Grid.Cuts": func(s *Spec) { s.Buckets.Grid.Cuts = []int64{5} },
		"Grid.Below": func(s *Spec) { s.Buckets.Grid.Below++ }, "Grid.Each": func(s *Spec) { s.Buckets.Grid.Each++ },
		"Grid.First": func(s *Spec) { s.Buckets.Grid.First++ }, "Divisors": func(s *Spec) { s.Buckets.Divisors[0]++ },
		"Fraction": func(s *Spec) { s.Buckets.Fraction++ },
		"Bits":     func(s *Spec) { s.Buckets.Number = Number{Kind: FloatNumber, Low: 1, High: 9, Bits: 3} },
		"Value": func(s *Spec) {
			s.Buckets = nil
			s.Value = Column{Kind: Float}
		},
	} {
		s := spec()
		if change(s); strings.Join(s.Lines(), "\n") == said {
			t.Errorf("%s: the same words", name)
		}
	}
	if n := reflect.TypeFor[Spec]().NumField() + reflect.TypeFor[Buckets]().NumField() + reflect.TypeFor[Grid]().NumField() +
		reflect.TypeFor[Number]().NumField() + reflect.TypeFor[Norm]().NumField() + reflect.TypeFor[Column]().NumField() +
		reflect.TypeFor[Key]().NumField() + reflect.TypeFor[List]().NumField(); n != 33 {
		t.Errorf("%d fields: is one of them new, it is to be said in words", n)
	}
}

// TestDropLeavesNothing holds that after a Fold is abandoned, nothing of its rows is in memory.
func TestDropLeavesNothing(t *testing.T) {
	spec := counting()
	spec.Buckets, spec.Value = nil, Column{Kind: Text}
	for _, byUnit := range []bool{false, true} {
		spec.ByUnit = byUnit
		f := New(&spec, secret, 1<<30)
		for i := range 100 {
			if err := f.Take([][]byte{[]byte("person of the test"), []byte("value " + strings.Repeat("x", i))}); err != nil {
				t.Fatal(err)
			}
		}
		kept := [][]byte{f.lastUnit, f.scratch, f.values.keys.list[0]}
		if !byUnit {
			kept = append(kept, f.units.keys.list[0])
		}
		f.Drop()
		for i, b := range kept {
			if slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
				t.Errorf("%v: %d: %q", byUnit, i, b)
			}
		}
	}
}
