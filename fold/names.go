package fold

import (
	"bytes"
	"hash/maphash"
)

// names numbers byte strings as a [table] does. They are so few that they are stored together.
type names struct {
	part
	ends []uint32 // of each byte string in text
	text []byte
}

func (n *names) size() int { return len(n.ends) }

// key returns the bytes of a number.
func (n *names) key(number int) []byte {
	from := uint32(0)
	if number > 0 {
		from = n.ends[number-1]
	}
	return n.text[from:n.ends[number]]
}

// bytes is how much memory the names take.
func (n *names) bytes() int { return 8*len(n.slots) + 4*cap(n.ends) + cap(n.text) }

// number returns the number of a byte string. At is the number of these names, by which the size at which they grow is drawn.
func (n *names) number(seed maphash.Seed, at int, key []byte) uint32 {
	if n.used == n.most {
		n.grow()
		n.most = drawn(seed, at, len(n.slots))
	}
	half, mask := maphash.Bytes(seed, key)<<32, uint64(len(n.slots)-1)
	for i := half >> 32 & mask; ; i = (i + 1) & mask {
		slot := n.slots[i]
		if slot == 0 {
			n.text = append(n.text, key...)
			n.ends = append(n.ends, uint32(len(n.text)))
			n.slots[i] = half | uint64(len(n.ends))
			n.used++
			return uint32(len(n.ends) - 1)
		}
		if number := uint32(slot) - 1; slot>>32 == half>>32 && bytes.Equal(n.key(int(number)), key) {
			return number
		}
	}
}

// drop forgets the byte strings, and keeps room for a few.
func (n *names) drop() {
	clear(n.slots)
	clear(n.text)
	if len(n.slots) > firstSlots {
		*n = names{}
		return
	}
	n.used, n.ends, n.text = 0, n.ends[:0], n.text[:0]
}
