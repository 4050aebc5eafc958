package fold

import "hash/maphash"

// A tally is the sum of all units of a level in a bucket, or in a node above it. Of fewer than 2^32 rows, each of a direction below 2^30,
// both fit.
type tally struct{ rows, directions int64 }

// A place is where a tally is: a group, a level and a node, of which there are fewer than 2^32, 2^8 and 2^18.
type place uint64

// taken is in every place, so that none is 0.
const taken = 1 << 63

func placeOf(group uint32, level int, node uint32) place {
	return taken | place(group)<<26 | place(level)<<18 | place(node)
}

func (p place) group() uint32 { return uint32(p >> 26) }
func (p place) level() int    { return int(p >> 18 & (1<<8 - 1)) }
func (p place) node() uint32  { return uint32(p & (1<<18 - 1)) }

// tallies are found by their places. They grow as a [table] does: rows of other units say when.
type tallies struct {
	seed  maphash.Seed
	parts [manyParts]tallyPart
}

type tallyPart struct {
	cells      []cell
	used, most int
}

// A cell is free where its place is 0.
type cell struct {
	place
	tally
}

func newTallies() *tallies { return &tallies{seed: maphash.MakeSeed()} }

// add adds to the tally of a place.
func (t *tallies) add(at place, what tally) {
	h := maphash.Comparable(t.seed, at)
	part := &t.parts[h>>56]
	if part.used == part.most {
		t.grow(part, int(h>>56))
	}
	c := part.find(at, h)
	if c.place == 0 {
		c.place = at
		part.used++
	}
	c.rows += what.rows
	c.directions += what.directions
}

// find returns the cell of a place, or the free one that is to be its.
func (p *tallyPart) find(at place, h uint64) *cell {
	mask := uint64(len(p.cells) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		if c := &p.cells[i]; c.place == at || c.place == 0 {
			return c
		}
	}
}

// grow doubles the cells of a part.
func (t *tallies) grow(part *tallyPart, number int) {
	old := part.cells
	part.cells = make([]cell, max(firstSlots, 2*len(old)))
	part.most = drawn(t.seed, number, len(part.cells))
	for _, c := range old {
		if c.place != 0 {
			*part.find(c.place, maphash.Comparable(t.seed, c.place)) = c
		}
	}
}

// each calls give with all of them.
func (t *tallies) each(give func(place, tally) error) error {
	for i := range t.parts {
		for _, c := range t.parts[i].cells {
			if c.place == 0 {
				continue
			}
			if err := give(c.place, c.tally); err != nil {
				return err
			}
		}
	}
	return nil
}
