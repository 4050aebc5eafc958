package fold

// A tally is the sum of all units of a level in a bucket, or in a node above it. There are fewer than 2^32 rows, each with a direction
// below 2^30, so that both sums fit.
type tally struct{ rows, directions int64 }

// A place is a group, a level and a node. There are fewer than 2^32 groups, 2^8 levels and 2^18 nodes.
type place uint64

func placeOf(group uint32, level int, node uint32) place {
	return place(group)<<26 | place(level)<<18 | place(node)
}

func (p place) group() uint32 { return uint32(p >> 26) }
func (p place) level() int    { return int(p >> 18 & (1<<8 - 1)) }
func (p place) node() uint32  { return uint32(p & (1<<18 - 1)) }

// tallies has the tallies by their places.
type tallies struct {
	places *index
	of     pieces[tally]
}

func newTallies() *tallies { return &tallies{places: newIndex(manyParts)} }

// add adds to the tally of a place.
func (t *tallies) add(at place, what tally) {
	n := t.places.number(uint64(at))
	if n == t.of.size {
		t.of.add(tally{})
	}
	sum := t.of.at(n)
	sum.rows += what.rows
	sum.directions += what.directions
}

// each calls give with all tallies.
func (t *tallies) each(give func(place, tally) error) error {
	for i := range t.places.size() {
		if err := give(place(t.places.key(i)), *t.of.at(i)); err != nil {
			return err
		}
	}
	return nil
}

// bytes is about how much memory the tallies take.
func (t *tallies) bytes() int { return t.places.bytes() + 16*pieceSize*len(t.of.list) }
