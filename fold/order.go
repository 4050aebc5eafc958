package fold

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"slices"
)

// Tags separate the orders of different things: no message of one order is a message of another.
const (
	tagValue     = 1 // values of a unit in a group
	tagPartition = 2 // groups of a unit
)

// An order is an order of the groups or values of one unit that only the secret determines.
type order struct {
	mac    hash.Hash
	ranked []ranked
	arena  arena
	text   []byte
	digest []byte
}

// A ranked is a thing in the order. Things are ordered by the HMAC-SHA-256 of a message, and then by the message.
type ranked struct {
	digest  [sha256.Size]byte
	message span
	thing   uint32
}

func newOrder(secret []byte) *order { return &order{mac: hmac.New(sha256.New, secret)} }

// begin empties the order.
func (o *order) begin() {
	if o.ranked = o.ranked[:0]; cap(o.ranked) > keptEntries {
		clear(o.ranked[:cap(o.ranked)])
		o.ranked = nil
	}
	if len(o.arena.list) > 1 {
		o.arena.drop()
	}
	o.arena.used = 0
}

// drop leaves nothing of the things in memory.
func (o *order) drop() {
	o.arena.drop()
	clear(o.ranked[:cap(o.ranked)])
	clear(o.text[:cap(o.text)])
	clear(o.digest[:cap(o.digest)])
	o.ranked = o.ranked[:0]
}

// add adds a thing, which the message identifies.
func (o *order) add(tag byte, thing uint32, message []byte) {
	o.mac.Reset()
	o.text = append(append(o.text[:0], tag), message...)
	_, _ = o.mac.Write(o.text) // never fails
	o.digest = o.mac.Sum(o.digest[:0])
	r := ranked{message: o.arena.add(message), thing: thing}
	copy(r.digest[:], o.digest)
	o.ranked = append(o.ranked, r)
}

// sorted returns all things, in the order.
func (o *order) sorted() []ranked {
	slices.SortFunc(o.ranked, func(a, b ranked) int {
		if c := bytes.Compare(a.digest[:], b.digest[:]); c != 0 {
			return c
		}
		return bytes.Compare(o.arena.at(a.message), o.arena.at(b.message))
	})
	return o.ranked
}
