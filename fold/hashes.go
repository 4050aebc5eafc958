package fold

import "hash/maphash"

// A hashRange is a range of hashes. If things are too many for memory, a reading counts only the things whose hash is in the range. The
// rows are read again for the others.
type hashRange struct {
	seed     maphash.Seed
	from, to uint64
}

// hashes is how many hashes there are.
const hashes = 1 << 32

// allHashes returns the range of all hashes, with a new seed, so that nobody can choose things that collide.
func allHashes() hashRange { return hashRange{maphash.MakeSeed(), 0, hashes} }

// all reports whether all things are in the range.
func (h *hashRange) all() bool { return h.to-h.from == hashes }

// has reports whether a thing is in the range.
func (h *hashRange) has(thing []byte) bool {
	if h.all() {
		return true
	}
	x := maphash.Bytes(h.seed, thing) % hashes
	return h.from <= x && x < h.to
}

// narrow keeps the first of so many equal parts of the range; false if the range is too narrow.
func (h *hashRange) narrow(parts uint64) bool {
	if h.to-h.from < parts {
		return false
	}
	h.to = h.from + (h.to-h.from)/parts
	return true
}

// next moves on to the next range, of at most this width; false if there is none.
func (h *hashRange) next(width uint64) bool {
	h.from, h.to = h.to, min(h.to+width, hashes)
	return h.from < hashes
}
