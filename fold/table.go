package fold

import (
	"bytes"
	"hash/maphash"
)

// A table numbers byte strings in the order in which they first come.
//
// Doubling a table of a million entries takes 30 ms, and a row takes 50 ns: one row of one unit could be seen by the time. So a table has
// 256 parts, by a hash for which nobody can choose keys. Each part grows by itself, at a size that is drawn for it.
type table struct {
	seed  maphash.Seed
	parts []part
	keys  arena
	spans pieces[span]
	slots int // of all parts
}

// A part is a hash table with open addressing: a slot has half of a hash and then a number, from 1 on; 0 is free.
type part struct {
	slots      []uint64
	used, most int
}

const (
	manyParts  = 256
	firstSlots = 16
)

// newTable returns an empty table of so many parts, a power of two: 1 for a single unit, else manyParts.
func newTable(parts int) *table { return &table{seed: maphash.MakeSeed(), parts: make([]part, parts)} }

func (t *table) size() int { return t.spans.size }

// key returns the bytes of a number.
func (t *table) key(number uint32) []byte { return t.keys.at(*t.spans.at(int(number))) }

// bytes is about how much memory the table takes.
func (t *table) bytes() int { return t.keys.size + 12*pieceSize*len(t.spans.list) + 8*t.slots }

// number returns the number of a byte string. A byte string gets a number when it first appears.
func (t *table) number(key []byte) uint32 {
	h := maphash.Bytes(t.seed, key)
	at := int(h>>32) & (len(t.parts) - 1)
	p := &t.parts[at]
	if p.used == p.most {
		t.slots += p.grow()
		p.most = drawn(t.seed, at, len(p.slots))
	}
	half, mask := h<<32, uint64(len(p.slots)-1)
	for at := half >> 32 & mask; ; at = (at + 1) & mask {
		slot := p.slots[at]
		if slot == 0 {
			n := uint32(t.spans.size)
			t.spans.add(t.keys.add(key))
			p.slots[at] = half | uint64(n+1)
			p.used++
			return n
		}
		if slot>>32 == half>>32 && bytes.Equal(t.key(uint32(slot)-1), key) {
			return uint32(slot) - 1
		}
	}
}

// find returns the number of a byte string, if it has a number.
func (t *table) find(key []byte) (number uint32, found bool) {
	h := maphash.Bytes(t.seed, key)
	p := &t.parts[int(h>>32)&(len(t.parts)-1)]
	if p.slots == nil {
		return 0, false
	}
	half, mask := h<<32, uint64(len(p.slots)-1)
	for at := half >> 32 & mask; p.slots[at] != 0; at = (at + 1) & mask {
		if slot := p.slots[at]; slot>>32 == half>>32 && bytes.Equal(t.key(uint32(slot)-1), key) {
			return uint32(slot) - 1, true
		}
	}
	return 0, false
}

// drawn is how many slots of a part are used before it grows: half to three quarters, by a seed that nobody knows.
func drawn(seed maphash.Seed, part, slots int) int {
	return slots/2 + int(maphash.Comparable(seed, [2]int{part, slots})%uint64(slots/4))
}

// grow doubles the slots of a part.
func (p *part) grow() (added int) {
	old := p.slots
	p.slots = make([]uint64, max(firstSlots, 2*len(old)))
	mask := uint64(len(p.slots) - 1)
	for _, slot := range old {
		if slot != 0 {
			at := slot >> 32 & mask
			for p.slots[at] != 0 {
				at = (at + 1) & mask
			}
			p.slots[at] = slot
		}
	}
	clear(old)
	return len(p.slots) - len(old)
}

// drop forgets the byte strings.
func (t *table) drop() {
	for i := range t.parts {
		clear(t.parts[i].slots)
	}
	clear(t.parts)
	t.keys.drop()
	t.spans.drop()
	t.slots = 0
}

// empty forgets the byte strings, and keeps room for a few others. It takes time for what the table has, not for what it had before.
func (t *table) empty() {
	for i := range t.parts {
		p := &t.parts[i]
		if clear(p.slots); len(p.slots) > firstSlots {
			t.slots -= len(p.slots)
			*p = part{}
		}
		p.used = 0
	}
	t.keys.empty()
	t.spans.empty()
}
