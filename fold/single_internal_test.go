package fold

import (
	"reflect"
	"slices"
	"testing"
)

// TestUnitByUnit holds that if rows come unit by unit, only rows of the last unit are kept.
func TestUnitByUnit(t *testing.T) {
	spec := adding()
	spec.ByUnit = true
	f := New(spec, secret, 1<<30)
	for i := range 20_000 {
		if err := f.Take([][]byte{number(i), whole(int64(i % 3)), nil, nil}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.adds.own.came.groups); n != 1 || f.adds.had != nil {
		t.Errorf("%d rows of one unit", n)
	}
}

// TestRowsOfOneUnit holds that a unit takes the memory of its groups, however many rows come, and that it leaves little of it to the next
// unit.
func TestRowsOfOneUnit(t *testing.T) {
	const groups, rows = 50_000, 1 << 21
	s := newSingle(1)
	worst := 0
	for i := range rows {
		s.add([]byte("the unit"), i > 0, uint32(i*7919%groups), []int64{1})
		worst = max(worst, cap(s.came.groups))
	}
	if worst > 4*groups {
		t.Errorf("%d rows are kept", worst)
	}
	s.finish(func(_ []byte, of []uint32, sums []amount) {
		if len(of) != groups || !slices.IsSorted(of) || sums[0] != amountOf(rows/groups+1) {
			t.Errorf("%d groups, %v in the first", len(of), sums[0].big())
		}
	})
	s.finish(func([]byte, []uint32, []amount) { t.Error("a unit without rows is finished") })
	if cap(s.came.groups)+cap(s.places)+cap(s.joined.sums) > 0 {
		t.Errorf("%d places are left", cap(s.places))
	}
}

// TestSingleIsAShare holds that a unit adds up to the same alone and among others.
func TestSingleIsAShare(t *testing.T) {
	type pair struct {
		name   string
		groups []uint32
		sums   []amount
	}
	var alone, beside []pair
	note := func(to *[]pair) func([]byte, []uint32, []amount) {
		return func(name []byte, groups []uint32, sums []amount) {
			*to = append(*to, pair{string(name), slices.Clone(groups), slices.Clone(sums)})
		}
	}
	s, all := newSingle(2), newShares(2, 1, 1<<30)
	for unit, rows := range []int{1, 3 * singleRows, 2, 40 * singleRows, singleRows, 1} {
		for i := range rows {
			group, x := uint32(i*i%(singleRows+7)), []int64{int64(i), -3 << 60}
			s.add(number(unit), i > 0, group, x)
			all.add(number(unit), i > 0, group, x)
		}
		s.finish(note(&alone))
	}
	all.finish(0, note(&beside))
	if !reflect.DeepEqual(alone, beside) {
		t.Error("a unit adds up to something else alone")
	}
}
