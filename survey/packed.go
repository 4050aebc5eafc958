package survey

import (
	"errors"
	"fmt"
	"math/bits"

	"dpproxy/accountant/realized"
)

// packed are answers of objects. An answer that is one of several takes a few bits: 0 is not asked, and y+1 the answer y. One that is a
// set of k values takes whole bytes, in which bit v says whether the value v is in it, and bit k that the object was asked.
type packed struct {
	width uint // bits of an answer that is no set
	of    int  // how many values a set is of; 0: answers are no sets
	n     int64
	data  []byte
}

// maxPacked bounds the bytes of the answers to one question.
const maxPacked = 1 << 30

// ErrRoom is wrapped where answers that are sets take too much room.
var ErrRoom = errors.New("survey: the answers take too much room")

// newPacked returns room for n answers out of k, or that are sets of k values.
func newPacked(kind Kind, k int, n int64) (*packed, error) {
	p := &packed{width: uint(bits.Len(uint(k)))}
	if kind == Set {
		p.width, p.of = 0, k
	}
	return p, p.grow(n)
}

// stride is how many bytes a set takes.
func (p *packed) stride() int64 { return int64(p.of+8) / 8 }

// bytes is the length of data for n answers.
func (p *packed) bytes(n int64) int64 {
	if p.of > 0 {
		return n * p.stride()
	}
	return (n*int64(p.width) + 7) / 8
}

// grow makes room for n answers, the new ones not asked.
func (p *packed) grow(n int64) error {
	if n <= p.n {
		return nil
	}
	if p.bytes(n) > maxPacked {
		return fmt.Errorf("%w: those of %d objects", ErrRoom, n)
	}
	p.n = n
	if more := p.bytes(n) - int64(len(p.data)); more > 0 {
		p.data = append(p.data, make([]byte, more)...)
	}
	return nil
}

// asked reports whether an object has an answer.
func (p *packed) asked(i int64) bool {
	if i >= p.n {
		return false
	}
	if p.of > 0 {
		return p.data[i*p.stride()+int64(p.of/8)]>>(p.of%8)&1 == 1
	}
	return p.place(i) > 0
}

// answer returns the answer of an object.
func (p *packed) answer(i int64) realized.Answer {
	switch {
	case !p.asked(i):
		return realized.Answer{Value: realized.Unasked}
	case p.of > 0:
		own := append([]byte(nil), p.data[i*p.stride():][:(p.of+7)/8]...)
		if p.of%8 > 0 {
			own[len(own)-1] &^= 1 << (p.of % 8)
		}
		return realized.Answer{Bits: own}
	}
	return realized.Answer{Value: p.place(i) - 1}
}

// place is what stands for the answer of an object, if answers are no sets.
func (p *packed) place(i int64) int {
	from := uint64(i) * uint64(p.width)
	var window uint64
	for b := range uint64(4) { // a width has at most 16 bits
		if at := from/8 + b; at < uint64(len(p.data)) {
			window |= uint64(p.data[at]) << (8 * b)
		}
	}
	return int(window >> (from % 8) & (1<<p.width - 1))
}

// set sets an answer that was not set.
func (p *packed) set(i int64, answer realized.Answer) {
	if p.of > 0 {
		own := p.data[i*p.stride():][:p.stride()]
		copy(own, answer.Bits)
		own[p.of/8] |= 1 << (p.of % 8)
		return
	}
	from := uint64(i) * uint64(p.width)
	window := uint64(answer.Value+1) << (from % 8)
	for b := range uint64(4) {
		if at := from/8 + b; at < uint64(len(p.data)) {
			p.data[at] |= byte(window >> (8 * b))
		}
	}
}

// unpack reads n answers out of k, or that are sets of k values.
func unpack(kind Kind, k int, n int64, data []byte) (*packed, error) {
	p := &packed{width: uint(bits.Len(uint(k))), n: n, data: data}
	if kind == Set {
		p.width, p.of = 0, k
	}
	if n < 0 || n > maxPacked || int64(len(data)) != p.bytes(n) {
		return nil, fmt.Errorf("survey: %d bytes are not the answers of %d objects", len(data), n)
	}
	for i := range n {
		if p.of > 0 && !p.whole(i) {
			return nil, fmt.Errorf("survey: the answer of object %d is no set of %d values", i, k)
		}
		if p.of == 0 && p.place(i) > k {
			return nil, fmt.Errorf("survey: object %d has answer %d of %d", i, p.place(i)-1, k)
		}
	}
	return p, nil
}

// whole reports whether nothing stands behind a set, and nothing in one that was not given.
func (p *packed) whole(i int64) bool {
	own := p.data[i*p.stride():][:p.stride()]
	if own[p.of/8]>>(p.of%8) > 1 {
		return false
	}
	if p.asked(i) {
		return true
	}
	for _, b := range own {
		if b != 0 {
			return false
		}
	}
	return true
}
