package fold

import (
	"hash/maphash"
	"math/bits"
)

// An index numbers keys of 64 bits in the order in which they first come. It grows as a [table] does.
type index struct {
	seed  maphash.Seed
	parts []indexPart
	keys  pieces[uint64]
	slots int // of all parts
}

// An indexPart is a hash table with open addressing: a slot has a number, from 1 on; 0 is free.
type indexPart struct {
	slots      []indexSlot
	used, most int
}

type indexSlot struct {
	key    uint64
	number uint32
}

func newIndex(parts int) *index {
	return &index{seed: maphash.MakeSeed(), parts: make([]indexPart, parts)}
}

func (x *index) size() int { return x.keys.size }

// key returns the key that has a number.
func (x *index) key(number int) uint64 { return *x.keys.at(number) }

// bytes is about how much memory the index takes.
func (x *index) bytes() int { return 16*x.slots + 8*pieceSize*len(x.keys.list) }

// empty forgets the keys, and keeps room for a few others.
func (x *index) empty() {
	for i := range x.parts {
		p := &x.parts[i]
		if clear(p.slots); len(p.slots) > firstSlots {
			x.slots -= len(p.slots)
			*p = indexPart{}
		}
		p.used = 0
	}
	x.keys.empty()
}

// number returns the number of a key. A key gets a number when it first appears.
func (x *index) number(key uint64) int {
	h := maphash.Comparable(x.seed, key)
	at := int(h>>32) & (len(x.parts) - 1)
	p := &x.parts[at]
	if p.used == p.most {
		x.grow(p, at)
	}
	s := p.find(key, h)
	if s.number == 0 {
		x.keys.add(key)
		*s = indexSlot{key, uint32(x.keys.size)}
		p.used++
	}
	return int(s.number) - 1
}

// find returns the slot of a key, or the free slot where the key belongs.
func (p *indexPart) find(key, h uint64) *indexSlot {
	mask := uint64(len(p.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		if s := &p.slots[i]; s.number == 0 || s.key == key {
			return s
		}
	}
}

// numberOf returns the number of a key, −1 if it has none.
func (x *index) numberOf(key uint64) int {
	h := maphash.Comparable(x.seed, key)
	p := &x.parts[int(h>>32)&(len(x.parts)-1)]
	if p.slots == nil {
		return -1
	}
	return int(p.find(key, h).number) - 1
}

// eachOnce calls give once for each key of the indexes, with the key's number in each index, −1 if it has none there.
func eachOnce(of []*index, give func(key uint64, numbers []int) error) error {
	numbers := make([]int, len(of))
	for i, x := range of {
		for n := range x.size() {
			key, given := x.key(n), false
			for k, other := range of {
				if numbers[k] = n; k != i {
					numbers[k] = other.numberOf(key)
				}
				given = given || k < i && numbers[k] >= 0
			}
			if given {
				continue
			}
			if err := give(key, numbers); err != nil {
				return err
			}
		}
	}
	return nil
}

// grow doubles the slots of a part.
func (x *index) grow(p *indexPart, number int) {
	old := p.slots
	p.slots = make([]indexSlot, max(firstSlots, 2*len(old)))
	p.most = drawn(x.seed, number, len(p.slots))
	for _, s := range old {
		if s.number != 0 {
			*p.find(s.key, maphash.Comparable(x.seed, s.key)) = s
		}
	}
	clear(old)
	x.slots += len(p.slots) - len(old)
}

// sumsSize is about how many sums a piece has.
const sumsSize = 1 << 12

// addends has so many sums for each number of an index. It grows as [pieces] do.
type addends struct {
	each int
	bits int // a piece has sums of 2^bits numbers
	list [][]amount
}

func newAddends(each int) *addends {
	return &addends{each: each, bits: max(0, bits.Len(uint(sumsSize/max(each, 1)))-1)}
}

// of returns the sums of a number, at most one above the largest number asked for before. They are valid until a larger one is asked for.
func (a *addends) of(number int) []amount {
	piece, from := number>>a.bits, number&(1<<a.bits-1)*a.each
	if piece == len(a.list) {
		a.list = append(a.list, make([]amount, firstOf(piece, 1, 1<<a.bits)*a.each))
	}
	if from == len(a.list[piece]) && a.each > 0 {
		a.list[piece] = doubled(a.list[piece])
	}
	return a.list[piece][from : from+a.each : from+a.each]
}

// bytes is about how much memory the sums take.
func (a *addends) bytes() int { return 16 << a.bits * a.each * len(a.list) }
