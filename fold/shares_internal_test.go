package fold

import (
	"slices"
	"testing"
)

// TestSharesGrowInParts holds that a row takes work for a small part of the rows at most, and that all rows are there in the end.
func TestSharesGrowInParts(t *testing.T) {
	const units, groups = 1 << 15, 1 << 3
	s, worst, last := newShares(1, manyParts, 1<<30), 0, 0
	for i := range units * groups {
		s.add(number(i*7919%units), false, uint32(i/units), []int64{int64(i)})
		worst, last = max(worst, s.size()-last, last-s.size()), s.size()
	}
	if most := 8 * s.size() / manyParts; worst > most {
		t.Errorf("a row made or freed %d bytes, more than %d", worst, most)
	}
	pairs, sum := 0, amount{}
	for i := range s.parts {
		s.finish(i, func(name []byte, groups []uint32, sums []amount) {
			if !slices.IsSorted(groups) || len(slices.Compact(slices.Clone(groups))) != len(sums) || len(name) == 0 {
				t.Fatalf("%q has groups %v and %d sums", name, groups, len(sums))
			}
			for _, x := range sums {
				sum = sum.plus(x)
			}
			pairs += len(groups)
		})
	}
	if all := int64(units * groups); pairs != units*groups || sum != amountOf(all*(all-1)/2) {
		t.Errorf("%d pairs, which are %v together", pairs, sum.big())
	}
}

// TestSharesOfOneUnit holds that the rows of a unit with most of the rows take no more memory than its groups do.
func TestSharesOfOneUnit(t *testing.T) {
	s := newShares(1, 1, 1<<30)
	s.add([]byte("another one"), false, 7, []int64{1})
	for i := range 1 << 20 {
		s.add([]byte("the unit"), i > 0, uint32(i%1000), []int64{1})
	}
	if most := 8 * leastRows; s.size() > most {
		t.Errorf("%d bytes, more than %d", s.size(), most)
	}
	s.finish(0, func(name []byte, groups []uint32, sums []amount) {
		most := sums[len(sums)-1]
		if name[0] == 't' && (len(groups) != 1000 || most != amountOf(1<<20/1000)) || name[0] == 'a' && len(groups) != 1 {
			t.Errorf("%s: %d groups, the last of %v rows", name, len(groups), most.big())
		}
	})
}

// TestRoomOfOneUnit holds that the rows of one person in many groups are within the memory, including the memory that brings them together.
func TestRoomOfOneUnit(t *testing.T) {
	const most = 8 << 20
	f := New(adding(), secret, most)
	worst := 0
	for group := 0; !f.full; group++ {
		if err := f.Take([][]byte{number(1), whole(int64(group)), {1}, whole(7)}); err != nil {
			t.Fatal(err)
		}
		if !f.full && group%64 == 0 {
			worst = max(worst, capacities(f.adds.had)+f.groups.bytes())
		}
	}
	if worst > most+most/4 || worst < most/4 {
		t.Errorf("%d bytes at most, of %d", worst, most)
	}
}

// capacities are the bytes of everything that shares and desks have.
func capacities(s *shares) (n int) {
	for i := range s.parts {
		n += s.parts[i].bytes()
	}
	for i := range s.desks {
		d := &s.desks[i]
		n += 4*cap(d.came.units) + 4*cap(d.came.groups) + 16*cap(d.came.sums) + 4*cap(d.ends) + 8*cap(d.places)
		n += 4*cap(d.joined.ends) + 4*cap(d.joined.groups) + 16*cap(d.joined.sums) + d.spare.bytes()
	}
	return n
}

// size is how many bytes all shares take.
func (s *shares) size() (n int) {
	for i := range s.desks {
		n += s.desks[i].size
	}
	return n
}
