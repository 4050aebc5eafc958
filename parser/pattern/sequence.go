package pattern

import (
	"math"
	"slices"
)

const (
	maxItems    = 256 // of a sequence
	maxBranches = 32  // sequences of an expression
	unlimited   = math.MaxInt
)

// An item is a number of characters of a set, or an anchor.
type item struct {
	set      set
	min, max int
	anchor   rune // ^ or $, else 0
}

func (i item) fixed() bool { return i.min == i.max }

// open reports whether an item is .*, perhaps after some dots.
func (i item) open() bool { return i.set.any() && i.max == unlimited }

// A sequence is items one after the other.
type sequence []item

// product appends each of the atoms to each of the sequences.
func product(all, atoms []sequence) ([]sequence, error) {
	var longer []sequence
	for _, before := range all {
		for _, after := range atoms {
			s := append(append(sequence(nil), before...), after...)
			if longer = append(longer, s); len(longer) > maxBranches || len(s) > maxItems {
				return nil, errTooMany
			}
		}
	}
	return longer, nil
}

func anchored(atoms []sequence) bool {
	for _, s := range atoms {
		for _, i := range s {
			if i.anchor != 0 {
				return true
			}
		}
	}
	return false
}

// ends puts .* in the place of a missing anchor.
func (s sequence) ends() (sequence, error) {
	first, last := 0, len(s)
	for first < last && s[first].anchor == '^' {
		first++
	}
	for first < last && s[last-1].anchor == '$' {
		last--
	}
	out := sequence{}
	if first == 0 {
		out = append(out, item{set: anything, max: unlimited})
	}
	if out = append(out, s[first:last]...); last == len(s) {
		out = append(out, item{set: anything, max: unlimited})
	}
	if anchored([]sequence{out}) {
		return nil, refuse("a regular expression with an anchor inside", "Let ^ begin it, or an alternative of it, and $ end it.")
	}
	return out.simple(), nil
}

// simple joins items of one set, and makes items next to .* as short as they can be: .* matches the rest.
func (s sequence) simple() sequence {
	for {
		joined := s.joined()
		shorter := slices.Clone(joined)
		for i, x := range joined {
			beside := i > 0 && joined[i-1].open() || i+1 < len(joined) && joined[i+1].open()
			if beside && !x.set.any() {
				shorter[i].max = x.min
			}
		}
		if s = shorter; slices.EqualFunc(s, joined, func(a, b item) bool { return a.max == b.max }) {
			return s
		}
	}
}

func (s sequence) joined() sequence {
	out := sequence{}
	for _, x := range s {
		last := len(out) - 1
		switch {
		case x.max == 0:
		case last >= 0 && out[last].set.equal(x.set):
			out[last].min += x.min
			out[last].max = sum(out[last].max, x.max)
		default:
			out = append(out, x)
		}
	}
	return out
}

func sum(a, b int) int {
	if a == unlimited || b == unlimited {
		return unlimited
	}
	return a + b
}

// lengths writes out the items that are repeated between m and n times, unless only one item varies.
func (s sequence) lengths() ([]sequence, error) {
	variable, ranged := 0, -1
	for i, x := range s {
		if !x.fixed() {
			variable++
			if x.max != unlimited {
				ranged = i
			}
		}
	}
	if ranged < 0 || variable == 1 {
		return []sequence{s}, nil
	}
	var all []sequence
	for n := s[ranged].min; n <= s[ranged].max; n++ {
		one := slices.Clone(s)
		one[ranged].min, one[ranged].max = n, n
		more, err := one.simple().lengths()
		if all = append(all, more...); len(all) > maxBranches {
			err = errTooMany
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// length returns the length of items whose lengths are known.
func (s sequence) length() (n int) {
	for _, x := range s {
		n += x.min
	}
	return n
}

// variable returns the first item of variable length from i on, len(s) if there is none.
func (s sequence) variable(i int) int {
	for i < len(s) && s[i].fixed() {
		i++
	}
	return i
}

// backward returns the last item of variable length before i, -1 if there is none.
func (s sequence) backward(i int) int {
	for i--; i >= 0 && s[i].fixed(); i-- {
	}
	return i
}

// endsBefore reports whether nothing that comes after an item can begin with a character of its set.
func endsBefore(x item, after sequence) bool {
	for _, y := range after {
		if !x.set.apart(y.set) {
			return false
		}
		if y.min > 0 {
			break
		}
	}
	return true
}
