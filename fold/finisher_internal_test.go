package fold

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestTogether holds that if a finisher has a defect, or its time ends, all finishers return one error with one text, and none is left at
// work.
func TestTogether(t *testing.T) {
	for broken := range finishers {
		f, worked := New(adding(), secret, 1<<30), make([]bool, finishers)
		err := f.together(finishers, func(_ *finisher, part int) error {
			if part == broken {
				panic("a value of somebody")
			}
			worked[part] = true
			return nil
		})
		if !errors.Is(err, errBroken) {
			t.Errorf("%d: %v", broken, err)
		}
		for part, did := range worked {
			if did == (part == broken) {
				t.Errorf("%d: %d has worked: %v", broken, part, did)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	f := New(adding(), secret, 1<<30)
	for _, row := range rowsOf(50, 7, 400) {
		if err := f.Take(row); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Totals(ended, func(Total) error { return nil }); !errors.Is(err, context.Canceled) || f.adds.had.size() > 0 {
		t.Errorf("%v, %d bytes are left", err, f.adds.had.size())
	}
}

// TestTooManyTogether holds that the results of two finishers together are within the memory. Rows whose results are not are read once
// more, with the same result.
func TestTooManyTogether(t *testing.T) {
	rows := rowsOf(2003, 2500, 40_000)
	spec := adding()
	spec.Sums.Weights = Weights{}
	whole, once := totalled(t, spec, rows, 1<<30)
	seen := map[bool]bool{}
	for most := 1 << 20; most < 1<<25; most += most / 4 {
		f := New(spec, secret, most)
		for _, row := range rows {
			if err := f.Take(row); err != nil {
				t.Fatal(err)
			}
		}
		fitted := !f.full
		again, err := f.Totals(t.Context(), func(Total) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if !fitted {
			continue
		}
		if seen[again] = true; !again {
			n := f.groups.bytes()
			for _, w := range f.finishers {
				n += w.bytes()
			}
			if n > most {
				t.Errorf("%d bytes, more than %d", n, most)
			}
		}
		if bounded, _ := totalled(t, spec, rows, most); !slices.Equal(whole, bounded) {
			t.Errorf("%d bytes: they differ", most)
		}
	}
	if once != 1 || len(seen) != 2 {
		t.Errorf("%d readings, %v", once, seen)
	}
}

// TestValuesOfFinishers holds that different values that do not fit for one of two finishers are counted in parts, after both have the same
// range.
func TestValuesOfFinishers(t *testing.T) {
	spec := counting()
	spec.Buckets, spec.Value = nil, Column{Kind: Plain}
	spec.Keys = []Key{{Column: Column{Kind: Plain}, Shown: Decimal}}
	var rows [][][]byte
	for i := range 120_000 { // nearly all are of units that come last
		rows = append(rows, [][]byte{number(max(0, i-300) * 400 / 120_000), number(i % 300), number(i / 300)})
	}
	whole, once := folded(t, spec, rows, 1<<30)
	bounded, several := folded(t, spec, rows, 6<<20)
	if d := whole.differs(bounded); d != "" || once != 1 || several < 2 || several > 3 {
		t.Errorf("%s; %d and %d readings", d, once, several)
	}
	for most := 4 << 20; ; most += 1 << 19 {
		f := New(&spec, secret, most)
		for _, row := range rows {
			if err := f.Take(row); err != nil {
				t.Fatal(err)
			}
		}
		if f.full {
			continue
		}
		if err := f.finishAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		a, b := f.finishers[0].kinds, f.finishers[1].kinds
		if a.all() || b.all() || a.seed != b.seed {
			t.Errorf("%d bytes: %v and %v", most, a.hashRange, b.hashRange)
		}
		break
	}
}

// TestValuesMeet holds that the values of two finishers are counted once if one finisher has a narrower range. The values beyond it are
// counted in the next reading.
func TestValuesMeet(t *testing.T) {
	const values = 1000
	for narrower := range 2 {
		of := [2]*different{newDifferent(), newDifferent()}
		of[1].hashRange = of[0].hashRange
		for i, d := range of {
			for v := range values {
				d.add(0, number(v), i)
			}
		}
		of[narrower].halve()
		of[narrower].halve()
		d, none := of[0], &different{places: newTable(1)}
		if !d.tally(of[1]) {
			t.Fatal("there is no other range")
		}
		if n := d.counts[counted{0, 0}]; n == 0 || n > values/2 {
			t.Errorf("%d values in a quarter of the range", n)
		}
		for v := range values {
			d.add(0, number(v), 0)
		}
		none.hashRange = d.hashRange
		if d.tally(none) || d.counts[counted{0, 0}] != values || len(d.counts) != 1 {
			t.Errorf("%v", d.counts)
		}
	}
}
