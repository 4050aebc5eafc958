package fold

import (
	"encoding/binary"
	"hash/maphash"
)

// shares has the sums of units in groups. Each share has some of the units, by a hash for which nobody can choose units. It writes rows
// down as they come. At sizes that are drawn for it, it brings the rows together, unit by unit and group by group. So rows that come in any
// order need little memory at a time, and nothing grows as a whole.
type shares struct {
	each  int // sums
	least int // bytes of rows at which a share brings them together
	seed  maphash.Seed
	parts []share
	last  int // the share of the last row
	// Each desk serves a part of the shares, which can be finished at the same time as the other part.
	desks [finishers]desk
}

// A share has some of the units.
type share struct {
	units names
	// rows has the rows that are not yet brought together. A row is the unit's identity after its length, which is 0 if the row before had
	// the same unit; then the group; then the numbers that are added up.
	rows [][]byte
	used int // bytes in rows
	most int

	of pairs
}

const (
	// leastRows is how many bytes of rows a share brings together, unless there is little memory.
	leastRows = 1 << 16
	// The first piece of rows has firstRows bytes. Each further piece has as many bytes as all pieces before it, but at most rowsSize,
	// unless a row is longer.
	firstRows, rowsSize = 1 << 8, 1 << 12
)

// newShares returns so many parts, which together take at most about most bytes.
func newShares(each, parts, most int) *shares {
	s := &shares{each: each, least: min(leastRows, most/(4*parts)), seed: maphash.MakeSeed(), parts: make([]share, parts)}
	for i := range s.desks {
		s.desks[i] = desk{each: each, seed: s.seed}
	}
	return s
}

// deskOf returns the number of the desk that serves a share.
func (s *shares) deskOf(at int) int { return at * finishers / len(s.parts) }

// room is how many bytes the shares and the desks take. The desks take about twice as much as the largest share.
func (s *shares) room() (n int) {
	for i := range s.desks {
		n += s.desks[i].room()
	}
	return n
}

// add adds a row of a unit; again says that the row before was of the same unit.
func (s *shares) add(unit []byte, again bool, group uint32, x []int64) {
	if !again {
		s.last = int(maphash.Bytes(s.seed, unit)>>32) & (len(s.parts) - 1)
	}
	p := &s.parts[s.last]
	if p.used >= p.most {
		s.gather(s.last)
	}
	if again && p.used > 0 {
		unit = nil
	}
	n := len(p.rows) - 1
	if most := binary.MaxVarintLen32 + len(unit) + 4 + 8*len(x); n < 0 || cap(p.rows[n])-len(p.rows[n]) < most {
		size := max(min(max(firstRows, p.used), rowsSize), most)
		p.rows, n = append(p.rows, make([]byte, 0, size)), n+1
		s.desks[s.deskOf(s.last)].size += size
	}
	b := binary.AppendUvarint(p.rows[n], uint64(len(unit)))
	b = binary.LittleEndian.AppendUint32(append(b, unit...), group)
	for _, x := range x {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	p.used += len(b) - len(p.rows[n])
	p.rows[n] = b
}

// gather brings the rows of a share together with its pairs.
func (s *shares) gather(at int) {
	p, d := &s.parts[at], &s.desks[s.deskOf(at)]
	d.size -= p.bytes()
	d.bring(p, at)
	p.of.set(&d.joined)
	d.joined.clear()
	p.rows, p.used = emptied(p.rows), 0
	p.most = max(s.least, 16*len(p.of.sums))
	p.most -= int(maphash.Comparable(s.seed, [2]int{at, p.most}) % uint64(p.most/4+1))
	d.size += p.bytes()
}

// bring makes pairs of the rows and the pairs of the share with the number at.
func (d *desk) bring(p *share, at int) {
	if p.units.size() == 0 {
		p.units, d.spare = d.spare, p.units
	}
	d.read(p, at)
	d.place(p.units.size())
	d.join(p.units.size())
	c := &d.came
	d.beside = d.spare.bytes() + 4*(cap(c.units)+cap(c.groups)+cap(d.ends)) + 16*cap(c.sums) + 8*cap(d.places) + d.joined.bytes()
}

// bytes is how much memory a share takes.
func (p *share) bytes() (n int) {
	for _, b := range p.rows {
		n += cap(b)
	}
	return n + p.units.bytes() + p.of.bytes()
}

// read reads the pairs of a share, and then its rows.
func (d *desk) read(p *share, at int) {
	c := &d.came
	c.units, c.groups, c.sums = c.units[:0], append(c.groups[:0], p.of.groups...), append(c.sums[:0], p.of.sums...)
	from := uint32(0)
	for unit, end := range p.of.ends {
		for ; from < end; from++ {
			c.units = append(c.units, uint32(unit))
		}
	}
	unit := uint32(0)
	for _, b := range p.rows {
		for len(b) > 0 {
			n, width := binary.Uvarint(b)
			b = b[width:]
			if n > 0 {
				unit = p.units.number(d.seed, at, b[:n])
			}
			c.units, c.groups = append(c.units, unit), append(c.groups, binary.LittleEndian.Uint32(b[n:]))
			b = b[n+4:]
			for range d.each {
				c.sums, b = append(c.sums, amountOf(int64(binary.LittleEndian.Uint64(b)))), b[8:]
			}
		}
	}
}

// finish brings the rows of a share together, and calls unit for each of its units, in some order. The share is empty afterwards.
func (s *shares) finish(at int, unit func(name []byte, groups []uint32, sums []amount)) {
	p, d, from := &s.parts[at], &s.desks[s.deskOf(at)], uint32(0)
	d.size -= p.bytes()
	d.bring(p, at)
	for u, end := range d.joined.ends {
		unit(p.units.key(u), d.joined.groups[from:end], d.joined.sums[int(from)*d.each:int(end)*d.each])
		from = end
	}
	d.joined.clear()
	p.drop()
	p.units, d.spare = names{}, p.units
	d.size += p.bytes()
}

// drop forgets the share's units and rows, and keeps one piece for other rows.
func (p *share) drop() {
	p.units.drop()
	p.of.clear()
	*p = share{units: p.units, rows: emptied(p.rows), most: p.most}
}

// emptied clears the pieces of rows, and leaves one piece.
func emptied(rows [][]byte) [][]byte {
	if len(rows) == 0 {
		return rows
	}
	for i, b := range rows {
		clear(b)
		rows[i] = b[:0]
	}
	rows[0] = rows[len(rows)-1]
	clear(rows[1:])
	return rows[:1]
}

// drop forgets all shares' units and rows.
func (s *shares) drop() {
	for i := range s.parts {
		s.parts[i].drop()
	}
	clear(s.parts)
	for i := range s.desks {
		s.desks[i] = desk{each: s.each, seed: s.seed}
	}
}
