package core

import (
	"iter"
	"math/bits"
	"slices"
)

// A Col is a column, numbered from 1. No two operators of a query make the same column, so no rewriting can capture a name.
type Col int

// A Set is a set of columns. It is immutable, but for add and with.
type Set []uint64

// Of returns the set of some columns.
func Of(cols ...Col) Set {
	last := Col(0)
	for _, c := range cols {
		last = max(last, c)
	}
	if last == 0 {
		return nil
	}
	s := make(Set, last/64+1)
	for _, c := range cols {
		if c != 0 {
			s[c/64] |= 1 << (c % 64)
		}
	}
	return s
}

// Has reports whether a column is in the set.
func (s Set) Has(c Col) bool { return int(c)/64 < len(s) && s[c/64]&(1<<(c%64)) != 0 }

// In reports whether s is a subset of t.
func (s Set) In(t Set) bool {
	for i, w := range s {
		if i >= len(t) && w != 0 || i < len(t) && w&^t[i] != 0 {
			return false
		}
	}
	return true
}

// size is how many columns are in the set.
func (s Set) size() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

func (s Set) empty() bool { return !slices.ContainsFunc(s, func(w uint64) bool { return w != 0 }) }

// isOneOf reports whether s is in a list.
func (s Set) isOneOf(list []Set) bool {
	return slices.ContainsFunc(list, func(t Set) bool { return s.In(t) && t.In(s) })
}

// Meets reports whether s and t have a common column.
func (s Set) Meets(t Set) bool {
	for i := range min(len(s), len(t)) {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// Or returns the union of s and t.
func (s Set) Or(t Set) Set {
	switch {
	case len(s) == 0:
		return t
	case len(t) == 0:
		return s
	}
	both := make(Set, max(len(s), len(t)))
	copy(both, s)
	for i, w := range t {
		both[i] |= w
	}
	return both
}

// add returns the union of s and t, and may change s in place.
func (s Set) add(t Set) Set {
	for len(s) < len(t) {
		s = append(s, 0)
	}
	for i, w := range t {
		s[i] |= w
	}
	return s
}

// with returns s with a column, and may change s in place.
func (s Set) with(c Col) Set {
	for len(s) <= int(c)/64 {
		s = append(s, 0)
	}
	s[c/64] |= 1 << (c % 64)
	return s
}

// But returns the columns of s that are not in t.
func (s Set) But(t Set) Set {
	rest := make(Set, len(s))
	for i, w := range s {
		if rest[i] = w; i < len(t) {
			rest[i] &^= t[i]
		}
	}
	return rest
}

// All iterates over the columns in ascending order.
func (s Set) All() iter.Seq[Col] {
	return func(yield func(Col) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(Col(64*i + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}
