package pattern

import "slices"

// A set is a set of characters: the listed ones or, if not is true, all others.
type set struct {
	chars []rune // in order, each once
	not   bool
}

func setOf(chars ...rune) set {
	slices.Sort(chars)
	return set{chars: slices.Compact(chars)}
}

// anything is the set of a dot.
var anything = set{not: true}

func (s set) any() bool { return s.not && len(s.chars) == 0 }

func (s set) equal(o set) bool { return s.not == o.not && slices.Equal(s.chars, o.chars) }

func (s set) listed(c rune) bool {
	_, found := slices.BinarySearch(s.chars, c)
	return found
}

func (s set) has(c rune) bool { return s.listed(c) != s.not }

// within reports whether all characters of s are in o.
func (s set) within(o set) bool {
	switch {
	case !s.not:
		return !slices.ContainsFunc(s.chars, func(c rune) bool { return !o.has(c) })
	case o.not:
		return !slices.ContainsFunc(o.chars, s.has)
	}
	return false // o lacks more characters than any list has
}

// apart reports whether no character is in both.
func (s set) apart(o set) bool { return s.within(set{chars: o.chars, not: !o.not}) }

// union returns the characters that are in s or in o.
func (s set) union(o set) set {
	switch {
	case !s.not && !o.not:
		return setOf(slices.Concat(s.chars, o.chars)...)
	case s.not && o.not:
		return set{chars: slices.DeleteFunc(slices.Clone(s.chars), o.has), not: true}
	case o.not:
		s, o = o, s
	}
	return set{chars: slices.DeleteFunc(slices.Clone(s.chars), o.has), not: true}
}

// folded adds the other case of each listed letter of ASCII.
func (s set) folded() set {
	all := slices.Clone(s.chars)
	for _, c := range s.chars {
		if letter(c) {
			all = append(all, c^0x20)
		}
	}
	return set{chars: setOf(all...).chars, not: s.not}
}

func letter(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80 }
