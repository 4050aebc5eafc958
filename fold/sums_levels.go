package fold

import (
	"slices"
	"sort"
)

// own has the groups of the unit that is finished, and the summands of the unit in each of them.
type own struct {
	each   int
	groups []uint32
	all    []amount
}

func (o *own) begin(each int) { o.each, o.groups, o.all = each, o.groups[:0], o.all[:0] }

func (o *own) at(group, summand int) amount { return o.all[group*o.each+summand] }

// keptGroups is the number of groups whose memory is kept for the next unit.
const keptGroups = 1 << 12

// drop forgets the unit.
func (o *own) drop() {
	clear(o.all)
	clear(o.groups)
	if cap(o.groups) > keptGroups { // much memory is not kept for the next unit
		o.all, o.groups = nil, nil
	}
}

// A bound is a [Bound] with its limits in a form that can be compared.
type bound struct {
	of      *Bound
	norm    norm
	coarser []coarser
	divides bool // it divides summands to find directions
	// level and length are those of the unit, or of one of its groups.
	size   wide
	level  int
	length uint64
}

func newBound(of *Bound, divides bool) bound {
	b := bound{of: of, divides: divides, norm: newNorm(&Norm{Squared: of.Kind == Root, Limits: of.Limits})}
	for i := range of.Coarser {
		b.coarser = append(b.coarser, coarser{of: &of.Coarser[i], numbers: newTable(manyParts)})
	}
	return b
}

// cuts reports whether a unit can be above a limit.
func (b *bound) cuts() bool { return len(b.of.Limits) > 0 }

// byGroup reports whether a unit has a level in each of its groups.
func (b *bound) byGroup() bool { return b.cuts() && b.of.Kind == Largest }

// measure finds the norm of the unit, unless each group has its own norm.
func (b *bound) measure(of *own, groups *grouping) {
	if b.level = b.of.Level; !b.cuts() || b.byGroup() {
		return
	}
	b.size = wide{}
	for g := range of.groups {
		x := of.at(g, b.of.Summand).size()
		if b.of.Kind == Root {
			x = x.squared()
		}
		b.size = b.size.plus(x)
	}
	for i := range b.coarser {
		if over := b.coarser[i].square(of, b.of.Summand, groups); b.size.less(over) {
			b.size = over
		}
	}
	b.setLevel(len(of.groups))
}

// measureIn finds the norm of one group, if each group has its own norm.
func (b *bound) measureIn(of *own, group int) {
	if b.byGroup() {
		b.size = of.at(group, b.of.Summand).size()
		b.setLevel(len(of.groups))
	}
}

// setLevel finds the level and the length of a unit in so many groups.
func (b *bound) setLevel(groups int) {
	if b.level = b.norm.level(b.size); !b.divides {
		return
	}
	if b.length = b.lengthOf(); b.of.Signed && b.length < largest {
		b.length = withRoom(b.length, groups)
	}
}

// lengthOf returns the divisor of the summands of a unit. It is at least the norm, so that the quotients are within the unit ball. If the
// norm is a root, the divisor is 2^rootBits times as large. Norms that are too large for that have the largest divisor, by which nothing is
// divided: such units have no directions.
func (b *bound) lengthOf() uint64 {
	if b.of.Kind == Root && !b.of.Counted {
		if root, ok := b.size.fineRoot(); ok && root < largest {
			return root + 1
		}
		return largest
	}
	size := b.size
	if most := (wide{0, largest}); most.less(size) {
		size = most
	}
	return b.norm.length(size.low)
}

// withRoom lengthens the divisor of directions of both signs. Each direction is rounded toward zero, so that a sum of k directions is off
// by at most k, of 2^f. If the length is multiplied by 2^f/(2^f−k), sums of directions are within the ball of coarser groups too.
func withRoom(length uint64, groups int) uint64 {
	const ball = 1 << roomBits
	if groups >= ball {
		return largest
	}
	long := product(length, ball).over(uint64(ball - groups))
	if long.high > 0 || long.low >= largest {
		return largest
	}
	return long.low + 1
}

// placeBits is the number of bits of a cell's place in a group, which numbers a vector and its levels together.
const placeBits = 32

// places has, for each vector, how many places come before its own.
func places(spec *Sums) []uint64 {
	before := make([]uint64, len(spec.Vectors)+1)
	for v, vector := range spec.Vectors {
		n := uint64(1)
		for _, norm := range vector.Norms {
			n *= levelsOf(&spec.Norms[norm])
		}
		before[v+1] = before[v] + n
	}
	return before
}

// levelsOf is how many levels a norm has.
func levelsOf(b *Bound) uint64 { return uint64(max(len(b.Limits), b.Level) + 1) }

func (s *summing) placeIn(vector int, levels []int) uint64 {
	at := uint64(0)
	for i, n := range s.spec.Vectors[vector].Norms {
		at = at*levelsOf(&s.spec.Norms[n]) + uint64(levels[i])
	}
	return s.places[vector] + at
}

// levelsAt returns the vector and the levels of a place in a group.
func (s *summing) levelsAt(at uint64) (vector int, levels []int) {
	at &= 1<<placeBits - 1
	vector = sort.Search(len(s.places), func(v int) bool { return s.places[v] > at }) - 1
	at -= s.places[vector]
	norms := s.spec.Vectors[vector].Norms
	levels = make([]int, len(norms))
	for i, n := range slices.Backward(norms) {
		levels[i] = int(at % levelsOf(&s.spec.Norms[n]))
		at /= levelsOf(&s.spec.Norms[n])
	}
	return vector, levels
}

// maxNorms is the largest number of norms of a vector.
const maxNorms = 3
