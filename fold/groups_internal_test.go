package fold

import (
	"math/big"
	"slices"
	"testing"
)

// manyGroups are rows of units in many groups, by two keys; some groups have rows of all units.
func manyGroups(columns ...func(i int) []byte) (rows [][][]byte) {
	for i := range 12_000 {
		row := [][]byte{number(i * 7919 % 2003), whole(int64(i * 31 % 6007)), whole(int64(i % 3))}
		if i%2 == 0 {
			row[1], row[2] = whole(7), whole(0)
		}
		for _, c := range columns {
			row = append(row, c(i))
		}
		rows = append(rows, row)
	}
	return rows
}

// TestGroupsInRanges holds that groups that do not fit into memory are counted in several readings, each once, with the same sums. Units
// are bounded over all of their groups, and no more memory is taken than there is.
func TestGroupsInRanges(t *testing.T) {
	key := Key{Column: Column{Kind: Plain}, Shown: Decimal}
	one := func(i int) []byte { return []byte{byte(i % 2)} }
	few := func(i int) []byte { return number(i % 10) }
	for name, spec := range map[string]func() *Spec{
		"sums": adding,
		"sums of some groups": func() *Spec {
			s := adding()
			s.Groups = 3
			return s
		},
		"sums by coarser groups": func() *Spec {
			s := adding()
			s.Sums.Norms[0].Coarser = []Coarser{{Square: 1, Keys: []int{1}}}
			return s
		},
		"sums by the largest group": func() *Spec {
			s := adding()
			s.Sums.Norms[0] = Bound{Kind: Largest, Limits: s.Sums.Norms[0].Limits}
			return s
		},
		"buckets": func() *Spec {
			s := counting()
			return &s
		},
		"different values": func() *Spec {
			s := counting()
			s.Buckets, s.Value, s.Groups = nil, Column{Kind: Plain}, 5
			return &s
		},
	} {
		for _, byUnit := range []bool{false, true}[:1+len(name)%2] {
			s := spec()
			s.Keys = []Key{key, key}
			var rows [][][]byte
			if s.Sums != nil {
				rows = manyGroups(one, func(i int) []byte { return whole(int64(i%19 - 9)) })
			} else {
				rows = manyGroups(few)
			}
			if byUnit {
				slices.SortStableFunc(rows, func(a, b [][]byte) int { return slices.Compare(a[0], b[0]) })
			}
			s.ByUnit = byUnit
			const most = 1 << 19
			var readings int
			if s.Sums != nil {
				want, _ := totalled(t, s, rows, 1<<30)
				var got []string
				if got, readings = totalled(t, s, rows, most); !slices.Equal(got, want) {
					t.Errorf("%s, %v: other sums", name, byUnit)
				}
			} else {
				want, _ := folded(t, *s, rows, 1<<30)
				var got sums
				if got, readings = folded(t, *s, rows, most); want.differs(got) != "" {
					t.Errorf("%s, %v: %s", name, byUnit, want.differs(got))
				}
			}
			if readings < 4 || readings > 40 {
				t.Errorf("%s, %v: %d readings", name, byUnit, readings)
			}
			if n := mostBytes(t, s, rows, most); n > most+most/4 {
				t.Errorf("%s, %v: %d bytes", name, byUnit, n)
			}
		}
	}
}

// mostBytes is the largest memory that groups and rows take after a row of any reading.
func mostBytes(t *testing.T, spec *Spec, rows [][][]byte, most int) (n int) {
	t.Helper()
	f := New(spec, secret, most)
	for again := true; again; {
		for _, row := range rows {
			if err := f.Take(row); err != nil {
				t.Fatal(err)
			}
			now := f.groups.bytes() + f.finishers[0].bytes()
			switch {
			case f.byUnit: // rows of one unit come on top
			case f.adds != nil:
				now += f.adds.had.size()
			default:
				now += f.rowsBytes()
			}
			if kinds := f.finishers[0].kinds; kinds != nil {
				now += kinds.bytes()
			}
			if n = max(n, now); f.ofUnit != nil && f.ofUnit.size() > 100 {
				t.Fatalf("%d groups of one unit", f.ofUnit.size())
			}
		}
		var err error
		if f.adds != nil {
			again, err = f.Totals(t.Context(), func(Total) error { return nil })
		} else {
			again, err = f.Finish(t.Context(), func(Sum) error { return nil }, func(int, int64) error { return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b [][]byte) int { return slices.Compare(a[0], b[0]) })
	}
	return n
}

// TestLargeGroups holds that a few groups are counted in one reading, whatever memory they take.
func TestLargeGroups(t *testing.T) {
	spec := counting()
	spec.Keys = []Key{{Column: Column{Kind: Plain}, Shown: Decimal}}
	spec.Buckets = &Buckets{Number: Number{Kind: Whole, High: 1 << 17}, Grid: Grid{Width: 1}, Divisors: []int64{1}}
	spec.Norm.Limits = []*big.Int{big.NewInt(0)}
	var rows [][][]byte
	for i := range 100_000 {
		rows = append(rows, [][]byte{number(i), whole(int64(i % 5)), number(i)})
	}
	if _, readings := folded(t, spec, rows, 1<<20); readings != 2 {
		t.Errorf("%d readings", readings)
	}
}

// TestListedGroupsInRanges holds that groups whose keys have numbers in lists are counted in several readings as well, each with its own
// number.
func TestListedGroupsInRanges(t *testing.T) {
	const values, units = 2000, 500
	spec := adding()
	spec.Lists = []List{{Column: Column{Kind: Plain}, Null: true}}
	spec.Keys = []Key{{Column: Column{Kind: Plain}, Shown: Numbered}, {Column: Column{Kind: Plain}, Shown: Decimal}}
	spec.Sums.Weights, spec.ByUnit = Weights{}, true
	f := New(spec, secret, 1<<18)
	for i := range values {
		if err := f.List([][]byte{number(i)}); err != nil {
			t.Fatal(err)
		}
	}
	got, readings := map[string]int64{}, 0
	for again := true; again; readings++ {
		for u := range units {
			for i := range 2 * values / units {
				row := [][]byte{number(u), number(u + i*units), whole(3), {1}, whole(5)} // half of them are in the list
				if i == 0 && u%2 == 0 {
					row[1] = nil
				}
				if err := f.Take(row); err != nil {
					t.Fatal(err)
				}
			}
		}
		var err error
		if again, err = f.Totals(t.Context(), func(total Total) error {
			if total.Sums != nil {
				got[string(total.Keys[0])+" "+string(total.Keys[1])] += total.Sums[0].Int64()
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if readings < 4 || len(got) != values-units/2+1 || got["0 3"] != units/2 || got["2 3"] != 1 || got["2000 3"] != 1 {
		t.Errorf("%d readings, %d groups, %v", readings, len(got), got["0 3"])
	}
}
