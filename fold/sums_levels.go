package fold

import (
	"slices"
	"sort"
)

// own has the groups of the unit that is finished, and of each of them the summands.
type own struct {
	each   int
	groups []uint32
	all    []amount
}

func (o *own) begin(each int) { o.each, o.groups, o.all = each, o.groups[:0], o.all[:0] }

func (o *own) at(group, summand int) amount { return o.all[group*o.each+summand] }

// keptGroups is for how many groups there is room for other units.
const keptGroups = 1 << 12

// drop forgets the unit.
func (o *own) drop() {
	clear(o.all)
	clear(o.groups)
	if cap(o.groups) > keptGroups { // that of one unit is not kept for the others
		o.all, o.groups = nil, nil
	}
}

// A bound is one with its limits as they are compared.
type bound struct {
	of      *Bound
	norm    norm
	coarser []coarser
	divides bool // directions are found by it
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

// measure finds the norm of the unit, where it is one of all groups.
func (b *bound) measure(s *summing, groups *grouping) {
	if b.level = b.of.Level; !b.cuts() || b.byGroup() {
		return
	}
	b.size = wide{}
	for g := range s.own.groups {
		x := s.own.at(g, b.of.Summand).size()
		if b.of.Kind == Root {
			x = x.squared()
		}
		b.size = b.size.plus(x)
	}
	for i := range b.coarser {
		if over := b.coarser[i].square(s.own, b.of.Summand, groups); b.size.less(over) {
			b.size = over
		}
	}
	b.setLevel(len(s.own.groups))
}

// measureIn finds the norm of one group by itself.
func (b *bound) measureIn(s *summing, group int) {
	if b.byGroup() {
		b.size = s.own.at(group, b.of.Summand).size()
		b.setLevel(len(s.own.groups))
	}
}

// setLevel finds level and length of a unit in so many groups.
func (b *bound) setLevel(groups int) {
	if b.level = b.norm.level(b.size); !b.divides {
		return
	}
	if b.length = b.lengthOf(); b.of.Signed && b.length < largest {
		b.length = withRoom(b.length, groups)
	}
}

// lengthOf returns the divisor of the summands of a unit: at least the norm, so that what a unit has is within the unit
// ball. Of a root it is 2^rootBits times as much, and of the largest so much that nothing is left.
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

// withRoom lengthens the length that directions of both signs are divided by. Each is rounded toward zero, so that a sum of k of
// them is off by k at most, of 2^f: divided by 2^f/(2^f−k) times the length, sums of directions are within the ball of coarser
// groups too.
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

// placeBits are those of the place of a cell in a group: numbers of a vector and of its levels together.
const placeBits = 32

// places has, of each vector, how many places there are before its own.
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

// maxNorms is how many norms a vector has, at most.
const maxNorms = 3

// add adds the unit to its cells.
func (s *summing) add() {
	for v := range s.spec.Vectors {
		vector := &s.spec.Vectors[v]
		if slices.ContainsFunc(vector.Norms, func(n int) bool { return s.bounds[n].byGroup() }) {
			s.addByGroup(v, vector)
			continue
		}
		var room [maxNorms]int
		at := s.placeIn(v, s.levels(room[:0], vector))
		for g, group := range s.own.groups {
			s.addTo(group, at, vector, g)
		}
		s.countAt(at)
	}
}

// addByGroup adds the unit to the cells of a vector where each of its groups has levels of its own.
func (s *summing) addByGroup(v int, vector *Vector) {
	var room [maxNorms]int
	var largestOf [maxNorms]wide
	var placed uint64
	for g, group := range s.own.groups {
		sizes := [maxNorms]wide{}
		for i, n := range vector.Norms {
			s.bounds[n].measureIn(s, g)
			sizes[i] = s.bounds[n].size
		}
		at := s.placeIn(v, s.levels(room[:0], vector))
		if g == 0 || above(sizes, largestOf) {
			largestOf, placed = sizes, at
		}
		s.addTo(group, at, vector, g)
	}
	s.countAt(placed)
}

// levels adds those by the norms of a vector.
func (s *summing) levels(to []int, vector *Vector) []int {
	for _, n := range vector.Norms {
		to = append(to, s.bounds[n].level)
	}
	return to
}

// countAt counts the unit, unless it was counted in another reading.
func (s *summing) countAt(at uint64) {
	if !s.counted {
		s.units[at]++
	}
}

// above orders two groups of a unit: by the first norm, then by the next one.
func above(a, b [maxNorms]wide) bool {
	for i := range a {
		if a[i] != b[i] {
			return b[i].less(a[i])
		}
	}
	return false
}

// addTo adds the summands of a group of the unit, which has a number of its own there, to the sums of a place in it.
func (s *summing) addTo(group uint32, at uint64, vector *Vector, own int) {
	if group == away {
		return
	}
	cell := s.totals.of(s.cells.number(uint64(group)<<placeBits | at))
	for i, n := range vector.Summands {
		x, of := s.own.at(own, n), &s.spec.Summands[n]
		cell[2*i] = cell[2*i].plus(x)
		if of.Norm >= 0 {
			b := &s.bounds[of.Norm]
			bits := of.Fraction
			if b.of.Kind == Root {
				bits += rootBits
			}
			cell[2*i+1] = cell[2*i+1].plus(x.part(bits, b.length))
		}
	}
}

// give gives all totals, with the keys of their groups.
func (s *summing) give(keys func(group uint32) ([][]byte, error), give func(Total) error) error {
	for at, n := range s.units {
		t := Total{Units: &n}
		t.Vector, t.Levels = s.levelsAt(at)
		if err := give(t); err != nil {
			return err
		}
	}
	for g := range s.weights.size {
		w := *s.weights.at(g)
		if w.pairs == 0 {
			continue
		}
		of, err := keys(uint32(g))
		if err != nil {
			return err
		}
		if err := give(Total{Keys: of, Weight: &w.of}); err != nil {
			return err
		}
	}
	for i := range s.cells.size() {
		place := s.cells.key(i)
		of, err := keys(uint32(place >> placeBits))
		if err != nil {
			return err
		}
		t := Total{Keys: of}
		t.Vector, t.Levels = s.levelsAt(place)
		for n := range s.spec.Vectors[t.Vector].Summands {
			sums := s.totals.of(i)
			t.Sums, t.Directions = append(t.Sums, sums[2*n].big()), append(t.Directions, sums[2*n+1].big())
		}
		if err := give(t); err != nil {
			return err
		}
	}
	return nil
}
