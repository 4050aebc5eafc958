package fold

import (
	"fmt"
	"testing"
)

// TestKeysOfGroups holds that rows are of one group if all of their keys are equal, and that each group is shown with its own keys.
func TestKeysOfGroups(t *testing.T) {
	spec := adding()
	spec.Lists = []List{{Column: Column{Kind: Numeric}, Null: true}}
	spec.Keys = []Key{
		{Column: Column{Kind: Written}, Shown: Behind},
		{Column: Column{Kind: Numeric}, Shown: Numbered},
		{Column: Column{Kind: Padded}, Shown: Same},
	}
	f := New(spec, secret, 1<<30)
	two := [][]byte{numericOf(0, positive, 2, 0), numericOf(0, positive, 2)} // are equal
	if err := f.List([][]byte{two[0]}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	for i := range 1000 {
		w := i % 3
		if i%5 == 1 {
			w = 3 // of rows that are left out
		}
		row := [][]byte{number(i), fmt.Appendf(nil, "w%d", w), fmt.Appendf(nil, "text %d", w), two[i%2], fmt.Appendf(nil, "%d ", i%7)}
		shown := fmt.Sprintf("[text %d 1 %d]", w, i%7)
		switch i % 5 {
		case 0:
			row[3] = nil // has the number 0
			shown = fmt.Sprintf("[text %d 0 %d]", w, i%7)
		case 1:
			row[3] = numericOf(0, positive, 3) // is in no list
		}
		if i%5 != 1 {
			want[shown]++
		}
		if err := f.Take(append(row, nil, nil)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int64{}
	if _, err := f.Totals(t.Context(), func(total Total) error {
		if total.Sums != nil {
			got[fmt.Sprintf("%s", total.Keys)] += total.Sums[0].Int64()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(want) != 42 || len(got) != len(want) {
		t.Errorf("%d groups, not %d", len(got), len(want))
	}
	for shown, n := range want {
		if got[shown] != n {
			t.Errorf("%s: %d rows, not %d", shown, got[shown], n)
		}
	}
	if short := [][]byte{number(1), []byte("w"), []byte("text"), nil}; f.Take(short) == nil {
		t.Error("a row without its last key is taken")
	}
	if n := f.groups.columns[0].values.size(); n != 3 {
		t.Errorf("%d values of the first key: a row that does not count left one", n)
	}
}
