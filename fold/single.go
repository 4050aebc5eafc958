package fold

import "hash/maphash"

// A single has the sums of one unit in groups, if rows come unit by unit. It works as a share does, but has no table of units.
type single struct {
	desk

	unit []byte
	most int // the number of rows at which they are brought together
}

// singleRows is how many rows of a unit are brought together at first, and for how many rows memory is kept.
const singleRows = 1 << 11

func newSingle(each int) *single {
	return &single{desk: desk{each: each, seed: maphash.MakeSeed()}, most: singleRows}
}

// add adds a row of a unit; again says that the row before was of the same unit.
func (s *single) add(unit []byte, again bool, group uint32, x []int64) {
	if !again {
		s.unit = append(s.unit[:0], unit...)
	}
	c := &s.came
	if len(c.groups) >= s.most {
		s.gather()
	}
	c.groups = append(c.groups, group)
	for _, x := range x {
		c.sums = append(c.sums, amountOf(x))
	}
}

// gather brings the rows of the unit together. The size at which it does so next is drawn.
func (s *single) gather() {
	s.bringOne()
	c := &s.came
	c.groups, c.sums = append(c.groups[:0], s.joined.groups...), append(c.sums[:0], s.joined.sums...)
	s.joined.clear()
	s.most = max(singleRows, 2*len(c.groups))
	s.most -= int(maphash.Comparable(s.seed, s.most) % uint64(s.most/4+1))
}

// bringOne makes pairs of the rows.
func (s *single) bringOne() {
	s.places = s.places[:0]
	for i, group := range s.came.groups {
		s.places = append(s.places, uint64(group)<<32|uint64(i))
	}
	s.ends = append(s.ends[:0], uint32(len(s.places)))
	s.join(1)
}

// finish calls of with the unit, if the unit has a row, and then forgets it.
func (s *single) finish(of func(name []byte, groups []uint32, sums []amount)) {
	if len(s.came.groups) == 0 {
		return
	}
	s.bringOne()
	of(s.unit, s.joined.groups, s.joined.sums)
	s.drop()
}

// drop forgets the unit, and keeps room for a few rows.
func (s *single) drop() {
	clear(s.unit)
	s.joined.clear()
	s.most = singleRows
	clear(s.came.groups)
	clear(s.came.sums)
	s.came.groups, s.came.sums = s.came.groups[:0], s.came.sums[:0]
	if cap(s.came.groups) > 2*singleRows {
		s.desk = desk{each: s.each, seed: s.seed}
	}
}
