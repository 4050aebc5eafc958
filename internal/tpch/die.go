package tpch

// A stream names an independent sequence of random numbers, so that a table's rows
// do not depend on the numbers drawn for another.
type stream uint64

const (
	supplierStream stream = iota + 1
	partStream
	supplyStream
	customerStream
	orderStream
)

// A die is a splitmix64 generator (Steele, Lea and Flood, OOPSLA 2014): eight bytes
// of state, so that every row can have one of its own. It makes up data, not noise.
type die uint64

// golden is 2⁶⁴ over the golden ratio.
const golden = 0x9e3779b97f4a7c15

// die returns the random numbers of one row.
func (g *Generator) die(s stream, row int) *die {
	d := die(g.seed + golden*uint64(s))
	d = die(d.next() + golden*uint64(row))
	d = die(d.next())
	return &d
}

func (d *die) next() uint64 {
	*d += golden
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// between returns an integer of [low, high]. The remainder's bias is below 2⁻³².
func (d *die) between(low, high int) int {
	return low + int(d.next()%uint64(high-low+1))
}

func pick[T any](d *die, from []T) T { return from[d.between(0, len(from)-1)] }
