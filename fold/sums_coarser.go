package fold

import (
	"cmp"
	"slices"
)

// coarser has the groups by some of the keys.
type coarser struct {
	of *Coarser
	// numbers has the numbers of coarser groups, and part has the number of the coarser group of each group.
	numbers *table
	part    pieces[uint32]
	key     []byte
	// joined has the summands of a unit.
	joined []joined
}

// A joined is a summand of a unit in one coarser group.
type joined struct {
	group uint32
	sum   amount
}

// bytes is about how much memory the numbers take.
func (c *coarser) bytes() int { return c.numbers.bytes() + 4*pieceSize*len(c.part.list) }

// forget forgets the numbers.
func (c *coarser) forget() {
	c.numbers.drop()
	c.part.empty()
}

// number returns the number of the coarser group that has a group as its part.
func (c *coarser) number(group uint32, groups *grouping) uint32 {
	for c.part.size <= int(group) {
		c.key = groups.appendSome(c.key[:0], uint32(c.part.size), c.of.Keys)
		c.part.add(c.numbers.number(c.key))
	}
	return *c.part.at(int(group))
}

// square returns the square of the norm of a unit over coarser groups, divided by Square and rounded up.
func (c *coarser) square(own *own, summand int, groups *grouping) (square wide) {
	c.joined = c.joined[:0]
	for g, group := range own.groups {
		c.joined = append(c.joined, joined{c.number(group, groups), own.at(g, summand)})
	}
	slices.SortFunc(c.joined, func(a, b joined) int { return cmp.Compare(a.group, b.group) })
	for from := 0; from < len(c.joined); {
		to, sum := from, amount{}
		for ; to < len(c.joined) && c.joined[to].group == c.joined[from].group; to++ {
			sum = sum.plus(c.joined[to].sum)
		}
		square = square.plus(sum.size().squared())
		from = to
	}
	clear(c.joined)
	return square.overUp(uint64(c.of.Square))
}
