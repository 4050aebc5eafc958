package fold

import (
	"encoding/binary"
	"math"
	"sort"
)

// different counts values by the lowest level at which some unit keeps them.
//
// The values themselves take memory. If they take too much, a reading counts only the values whose hash is in a range, and the rows are
// read again for the other values.
type different struct {
	hashRange
	// places numbers the pairs of a group and a value, and least has the level of each pair.
	places *table
	least  pieces[uint16]
	key    []byte
	counts map[counted]int64
}

// A counted identifies the values of a group that are kept from a level on.
type counted struct {
	group uint32
	level uint16
}

func newDifferent() *different {
	return &different{hashRange: allHashes(), places: newTable(manyParts), counts: map[counted]int64{}}
}

// bytes is about how much memory the values take.
func (d *different) bytes() int { return d.places.bytes() + 2*pieceSize*len(d.least.list) }

// add records that a unit keeps a value, given its identity, from a level on.
func (d *different) add(group uint32, value []byte, level int) {
	if !d.has(value) {
		return
	}
	d.key = append(binary.BigEndian.AppendUint32(d.key[:0], group), value...)
	at := int(d.places.number(d.key))
	if at == d.least.size {
		d.least.add(math.MaxUint16)
	}
	if have := d.least.at(at); level < int(*have) {
		*have = uint16(level)
	}
}

// halve narrows the range to half of it, and drops the values outside.
func (d *different) halve() {
	if !d.narrow(2) {
		return
	}
	all, levels := d.places, d.least
	d.places, d.least = newTable(manyParts), pieces[uint16]{}
	for i := range all.size() {
		key := all.key(uint32(i))
		d.add(binary.BigEndian.Uint32(key), key[4:], int(*levels.at(i)))
	}
	all.drop()
	levels.drop()
}

// tally counts the values of the range by their levels, and moves on to the next range, if there is one. A value that both have is counted
// once, at the lower level. The other one has no values afterwards.
func (d *different) tally(other *different) (again bool) {
	d.meet(other)
	for i := range d.places.size() {
		key, level := d.places.key(uint32(i)), *d.least.at(i)
		if at, both := other.places.find(key); both {
			level = min(level, *other.least.at(int(at)))
		}
		d.count(key, level)
	}
	for i := range other.places.size() {
		key := other.places.key(uint32(i))
		if _, both := d.places.find(key); !both {
			d.count(key, *other.least.at(i))
		}
	}
	d.drop()
	other.drop()
	return d.next(hashes)
}

// meet narrows the wider range to the other one.
func (d *different) meet(other *different) {
	for other.to < d.to {
		d.halve()
	}
	for d.to < other.to {
		other.halve()
	}
}

// count counts a value of a group.
func (d *different) count(key []byte, level uint16) {
	d.counts[counted{binary.BigEndian.Uint32(key), level}]++
}

// drop forgets the values of the range.
func (d *different) drop() {
	d.places.drop()
	d.least.drop()
	clear(d.key[:cap(d.key)])
}

// sums gives the numbers of values.
func (d *different) sums(give func(uint32, Sum) error) error {
	for of, n := range d.counts {
		if err := give(of.group, Sum{Level: int(of.level), Rows: n}); err != nil {
			return err
		}
	}
	return nil
}

// finishDifferent adds the values of a unit, and returns its level.
//
// Let a unit have k values in a group, and let N be its norm over all groups. At a limit C, the unit keeps the first k·C/N values of the
// group, in an order that only the secret determines. So it keeps the r-th value from the lowest level on whose limit has C² ≥ r²·N²/k² or,
// if the norm is no root, C ≥ r·N/k.
func (w *finisher) finishDifferent() (level int) {
	f, norm := w.of, &w.of.norm
	size := norm.size(w.own, func([]entry, uint64) {})
	norm.size(w.own, func(of []entry, k uint64) {
		group, counts := w.place(of[0].group())
		if !counts {
			return
		}
		for rank, value := range w.ordered(of) {
			w.kinds.add(group, f.values.key(value), norm.keeps(uint64(rank)+1, k, size))
		}
	})
	if w.kinds.bytes()*len(f.finishers) > f.most {
		w.kinds.halve()
	}
	return norm.level(size)
}

// keeps returns the lowest level at which a unit keeps the r-th of its k values in a group.
func (n *norm) keeps(r, k uint64, size wide) (level int) {
	if n.squared {
		r, k = r*r, k*k
	}
	ranked := size.times(r)
	return sort.Search(len(n.limits), func(i int) bool { return !n.limits[i].times(k).less(ranked) })
}

// ordered returns the numbers of the values of a unit in one group, in the order of the secret.
func (w *finisher) ordered(of []entry) []uint32 {
	w.picked = w.picked[:0]
	if len(of) == 1 {
		return append(w.picked, of[0].value())
	}
	spec := w.of.spec
	w.order.begin()
	for _, e := range of {
		w.message = spec.Unit.AppendCanonical(w.message[:0], w.name)
		w.message = spec.Value.AppendCanonical(w.message, w.of.values.key(e.value()))
		w.order.add(tagValue, e.value(), w.message)
	}
	for _, r := range w.order.sorted() {
		w.picked = append(w.picked, r.thing)
	}
	return w.picked
}
