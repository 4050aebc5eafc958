package fold

import (
	"hash/maphash"
	"slices"
)

// A desk is working memory that several shares use in turn.
type desk struct {
	each   int
	seed   maphash.Seed
	size   int   // bytes of the shares that use it
	beside int   // bytes of the fields below, after the last share
	spare  names // empty
	came   came
	ends   []uint32 // of each unit's rows in places
	places []uint64 // a group, and the number of a row
	joined pairs
}

// pairs are units with their groups, in the order of units.
type pairs struct {
	ends   []uint32 // of each unit
	groups []uint32
	sums   []amount
}

// came has the rows that are brought together.
type came struct {
	units, groups []uint32
	sums          []amount
}

// room is how many bytes the desk and its shares take.
func (d *desk) room() int { return d.size + d.beside }

// place orders rows by their units, of which there are so many.
func (d *desk) place(units int) {
	d.ends = append(d.ends[:0], make([]uint32, units+1)...) // an element more: the end of the unit before
	for _, u := range d.came.units {
		d.ends[u+1]++
	}
	for u := range units {
		d.ends[u+1] += d.ends[u]
	}
	d.places = slices.Grow(d.places[:0], len(d.came.units))[:len(d.came.units)]
	for i, u := range d.came.units {
		d.places[d.ends[u]] = uint64(d.came.groups[i])<<32 | uint64(i)
		d.ends[u]++
	}
}

// join makes one pair of all rows of a unit and group.
func (d *desk) join(units int) {
	of, from := &d.joined, uint32(0)
	for u := range units {
		own := d.places[from:d.ends[u]]
		slices.Sort(own)
		for i, at := range own {
			row := d.came.sums[int(uint32(at))*d.each:][:d.each]
			if group := uint32(at >> 32); i == 0 || uint32(own[i-1]>>32) != group {
				of.groups, of.sums = append(of.groups, group), append(of.sums, row...)
				continue
			}
			sums := of.sums[len(of.sums)-d.each:]
			for k := range sums {
				sums[k] = sums[k].plus(row[k])
			}
		}
		from = d.ends[u]
		of.ends = append(of.ends, uint32(len(of.groups)))
	}
	clear(d.places)
	clear(d.came.sums)
	clear(d.came.units)
	clear(d.came.groups)
}

// bytes is how much memory pairs take.
func (p *pairs) bytes() int { return 4*(cap(p.ends)+cap(p.groups)) + 16*cap(p.sums) }

// set copies other pairs.
func (p *pairs) set(as *pairs) {
	p.ends, p.groups, p.sums = append(p.ends[:0], as.ends...), append(p.groups[:0], as.groups...), append(p.sums[:0], as.sums...)
}

// clear forgets the pairs.
func (p *pairs) clear() {
	clear(p.groups)
	clear(p.sums)
	p.ends, p.groups, p.sums = p.ends[:0], p.groups[:0], p.sums[:0]
}
