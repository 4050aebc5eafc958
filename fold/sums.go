package fold

import (
	"math/bits"
	"slices"
)

// A tuple has the numbers of a row. If absent is true, the column is NULL.
type tuple struct {
	of     []int64
	absent []bool
}

// summing adds up the rows of units.
type summing struct {
	spec *Sums
	// additions are the different additions of the Spec; summands are the Spec's, with additions' places in this list.
	additions []Addition
	summands  []Summand
	each      int      // sums of a unit in a group
	most      []amount // of each summand
	// places has, for each vector, how many places of a group come before its own.
	places []uint64

	row tuple
	// added are the parts of the row in the additions.
	added []int64
	// sums are the sums of a row that has all sums of its unit.
	sums []amount
	// had has the sums of all units in groups. It is nil if rows come unit by unit: then own has the sums of the unit.
	had *shares
	own *single
}

func newSumming(spec *Sums) *summing {
	s := &summing{spec: spec, places: places(spec)}
	s.row = tuple{make([]int64, len(spec.Columns)), make([]bool, len(spec.Columns))}
	s.nameAdditions()
	s.each, s.added = max(len(spec.Summed), len(s.additions)), make([]int64, len(s.additions))
	for i := range spec.Summands {
		s.most = append(s.most, amountMost(spec.Summands[i].Most))
	}
	return s
}

// nameAdditions lists the different additions. Each is added up once, even if several summands use it.
func (s *summing) nameAdditions() {
	s.summands = s.spec.Summands
	if s.spec.Summed != nil {
		return
	}
	names := make([]int, len(s.spec.Additions))
	for i, a := range s.spec.Additions {
		if names[i] = slices.IndexFunc(s.additions, a.equal); names[i] < 0 {
			names[i], s.additions = len(s.additions), append(s.additions, a)
		}
	}
	s.summands = slices.Clone(s.summands)
	for i := range s.summands {
		x := &s.summands[i]
		x.Addition, x.Count = names[x.Addition], names[x.Count]
	}
}

func (a Addition) equal(b Addition) bool {
	return a.Filter == b.Filter && a.Unit == b.Unit && a.Offset == b.Offset && slices.Equal(a.Factors, b.Factors)
}

// begin prepares for rows, which take at most about most bytes.
func (s *summing) begin(byUnit bool, most int) {
	s.had, s.own = nil, nil
	if byUnit {
		s.own = newSingle(s.each)
	} else {
		s.had = newShares(s.each, manyParts, most)
	}
}

// take adds a row of a unit; again says that the row before was of the same unit.
func (s *summing) take(unit []byte, again bool, group uint32, values [][]byte) (err error) {
	for i, v := range values {
		if s.row.absent[i] = v == nil; v == nil {
			continue
		}
		if s.row.of[i], err = s.spec.Columns[i].steps(v); err != nil {
			return err
		}
	}
	for i := range s.additions {
		s.added[i], _ = s.additions[i].of(s.row)
	}
	if s.own != nil {
		s.own.add(unit, again, group, s.added)
	} else {
		s.had.add(unit, again, group, s.added)
	}
	return nil
}

// ofUnit reads the sums of a unit. NULL is 0.
func (s *summing) ofUnit(values [][]byte) error {
	if len(values) != s.each {
		return errRow
	}
	s.sums = s.sums[:0]
	for i, v := range values {
		x, ok := readAmount(s.spec.Summed[i], v)
		if !ok {
			return errRow
		}
		s.sums = append(s.sums, x)
	}
	return nil
}

// of returns the part of a row in the addition.
func (a *Addition) of(row tuple) (x int64, counts bool) {
	if a.Filter >= 0 && (row.absent[a.Filter] || row.of[a.Filter] == 0) {
		return 0, false
	}
	if len(a.Factors) == 0 {
		return 1, true
	}
	for i, f := range a.Factors {
		if row.absent[f.Column] {
			return 0, false
		}
		y := f.Times*row.of[f.Column] - f.Less
		if i == 0 {
			x = y
		} else {
			x = dividedProduct(x, y, uint64(a.Unit))
		}
	}
	return x - a.Offset, true
}

// dividedProduct returns x·y/by, rounded toward zero, and at most 2^62 in size.
func dividedProduct(x, y int64, by uint64) int64 {
	high, low := bits.Mul64(size(x), size(y))
	q := int64(beyond)
	if high < by {
		d, _ := bits.Div64(high, low, by)
		q = int64(min(d, beyond))
	}
	if (x < 0) != (y < 0) {
		return -q
	}
	return q
}

// drop leaves nothing of rows.
func (s *summing) drop() {
	if s.had != nil {
		s.had.drop()
	}
	if s.own != nil {
		s.own.drop()
	}
	clear(s.row.of)
	clear(s.added)
	clear(s.sums)
}
