package fold

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// numbered counts rows by the numbers of two keys in lists.
func numbered() *Spec {
	spec := adding()
	spec.Lists = []List{{Column: Column{Kind: Numeric}}, {Column: Column{Kind: Padded}, Null: true}}
	spec.Keys = []Key{
		{Column: Column{Kind: Padded}, Shown: Numbered, List: 1}, {Column: Column{Kind: Numeric}, Shown: Numbered},
	}
	return spec
}

// TestLists holds that a key is shown as the number of its value in its list, whatever its form is. A row with another value does not
// count, nor does its unit.
func TestLists(t *testing.T) {
	one, two, three := numericOf(0, positive, 1), numericOf(0, positive, 2), numericOf(0, positive, 3)
	for _, byUnit := range []bool{false, true} {
		spec := numbered()
		spec.ByUnit, spec.Sums.Weights = byUnit, Weights{}
		f := New(spec, secret, 1<<30)
		for _, row := range [][][]byte{{two, []byte("b  ")}, {two, []byte("a")}, {one, nil}} { // two is in the list twice
			if err := f.List(row); err != nil {
				t.Fatal(err)
			}
		}
		for i, row := range [][][]byte{
			{[]byte("b"), numericOf(0, positive, 2, 0)}, {nil, one}, {[]byte("a "), two}, // counted
			{[]byte("c"), one}, {[]byte("a"), three}, {[]byte("b"), nil}, // left out
		} {
			if err := f.Take(append([][]byte{number(i)}, append(row, []byte{1}, whole(5))...)); err != nil {
				t.Fatal(err)
			}
		}
		var groups []string
		units := int64(0)
		again, err := f.Totals(t.Context(), func(total Total) error {
			if total.Units != nil {
				units += *total.Units
			} else {
				groups = append(groups, string(total.Keys[0])+" "+string(total.Keys[1])+" "+total.Sums[1].String())
			}
			return nil
		})
		slices.Sort(groups)
		if got := strings.Join(groups, ", "); err != nil || again || units != 3 || got != "0 3 5, 1 1 5, 2 1 5" {
			t.Errorf("%v: %d units, %s, %v, %v", byUnit, units, got, again, err)
		}
	}
}

// TestPositions holds that rows are counted in the bucket of the place of their value in a list.
func TestPositions(t *testing.T) {
	spec := counting()
	spec.Lists = []List{{Column: Column{Kind: Text}}}
	spec.Buckets.Number, spec.Buckets.Grid = Number{Kind: Position, High: 2}, Grid{Width: 1}
	f := New(&spec, secret, 1<<30)
	for _, value := range []string{"c", "a", "b"} {
		if err := f.List([][]byte{[]byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, value := range []string{"b", "b", "c", "d"} {
		if err := f.Take([][]byte{number(i), []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	rows, units := map[int]int64{}, int64(0)
	_, err := f.Finish(t.Context(), func(s Sum) error {
		rows[s.Node] += s.Rows
		return nil
	}, func(_ int, n int64) error {
		units += n
		return nil
	})
	if err != nil || units != 3 || len(rows) != 2 || rows[2] != 2 || rows[0] != 1 {
		t.Errorf("%d units, %v, %v", units, rows, err)
	}
}

// TestRowsOfAnotherForm holds that a row with other columns is refused, even if it would not count.
func TestRowsOfAnotherForm(t *testing.T) {
	row := [][]byte{number(1), []byte("in no list"), numericOf(0, positive, 2), {1}, whole(5)}
	for n := range 8 {
		of := append(row, row...)[:n]
		if err := New(numbered(), secret, 1<<30).Take(of); (err != nil) != (n != len(row)) {
			t.Errorf("%d columns: %v", n, err)
		}
	}
}

// TestListsOfAnotherForm holds that a row of lists with other columns is refused.
func TestListsOfAnotherForm(t *testing.T) {
	for _, row := range [][][]byte{{}, {nil}, {[]byte("no numeric"), nil}, {nil, nil, nil}} {
		if err := New(numbered(), secret, 1<<30).List(row); !errors.Is(err, errRow) {
			t.Errorf("%q: %v", row, err)
		}
	}
}
