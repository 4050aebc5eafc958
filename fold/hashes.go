package fold

import "hash/maphash"

// A hashRange is one of hashes. Of things that are too many for memory those alone are counted whose hash is in it, and the others when
// the rows are read again.
type hashRange struct {
	seed     maphash.Seed
	from, to uint64
}

// hashes is how many there are.
const hashes = 1 << 32

// allHashes returns the range of all, of hashes that nobody can choose for.
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

// narrow leaves a part of the range; false if it is too narrow for that.
func (h *hashRange) narrow(parts uint64) bool {
	if h.to-h.from < parts {
		return false
	}
	h.to = h.from + (h.to-h.from)/parts
	return true
}

// next goes on to a range that is so wide at most; false if there is none.
func (h *hashRange) next(width uint64) bool {
	h.from, h.to = h.to, min(h.to+width, hashes)
	return h.from < hashes
}
