package survey

import (
	"fmt"
	"math/bits"
)

// packed are answers of objects, each in a few bits: 0 is not asked, and y+1 the answer y.
type packed struct {
	width uint
	n     int64
	data  []byte
}

// newPacked returns room for n answers out of k.
func newPacked(k int, n int64) *packed {
	p := &packed{width: uint(bits.Len(uint(k))), n: n}
	p.data = make([]byte, p.bytes())
	return p
}

// bytes is the length of data.
func (p *packed) bytes() int64 { return (p.n*int64(p.width) + 7) / 8 }

// grow makes room for n answers, the new ones not asked.
func (p *packed) grow(n int64) {
	if n <= p.n {
		return
	}
	p.n = n
	if more := p.bytes() - int64(len(p.data)); more > 0 {
		p.data = append(p.data, make([]byte, more)...)
	}
}

// at returns the answer of an object, −1 if it was not asked.
func (p *packed) at(i int64) int {
	if i >= p.n {
		return -1
	}
	from := uint64(i) * uint64(p.width)
	var window uint64
	for b := range uint64(4) { // a width has at most 16 bits
		if at := from/8 + b; at < uint64(len(p.data)) {
			window |= uint64(p.data[at]) << (8 * b)
		}
	}
	return int(window>>(from%8)&(1<<p.width-1)) - 1
}

// set sets an answer that was not set.
func (p *packed) set(i int64, answer int) {
	from := uint64(i) * uint64(p.width)
	window := uint64(answer+1) << (from % 8)
	for b := range uint64(4) {
		if at := from/8 + b; at < uint64(len(p.data)) {
			p.data[at] |= byte(window >> (8 * b))
		}
	}
}

// unpack reads n answers out of k.
func unpack(k int, n int64, data []byte) (*packed, error) {
	p := &packed{width: uint(bits.Len(uint(k))), n: n, data: data}
	if n < 0 || int64(len(data)) != p.bytes() {
		return nil, fmt.Errorf("survey: %d bytes are not the answers of %d objects", len(data), n)
	}
	for i := range n {
		if p.at(i) >= k {
			return nil, fmt.Errorf("survey: object %d has answer %d of %d", i, p.at(i), k)
		}
	}
	return p, nil
}
