package pattern

import (
	"slices"
	"strings"
)

// The limits of a test are the planner's.
const (
	maxBytes     = 256
	maxWildcards = 8
	maxPatterns  = 32
)

// letterSet reports whether a set is a letter, perhaps in both cases.
func (s set) letterSet() bool {
	return !s.not && (len(s.chars) == 1 || len(s.chars) == 2 && letter(s.chars[0]) && s.chars[0]^0x20 == s.chars[1])
}

// like writes a test by LIKE. If an item of front or back is neither a letter nor a dot, further tests check its characters.
func (c *compiler) like(front, middle, back sequence) error {
	all := slices.Concat(front, middle, back)
	var sets []set
	told := make([]bool, len(all)) // by the pattern
	for i, x := range all {
		inside := i >= len(front) && i < len(front)+len(middle)
		if x.set.any() || !inside && !x.set.letterSet() {
			continue
		}
		if x.set.not {
			return errUnknown
		}
		told[i] = true
		sets = append(sets, x.set)
	}
	t := translationOf(sets)
	patterns := []string{""}
	for i, x := range all {
		var err error
		if patterns, err = t.extend(patterns, x, told[i]); err != nil {
			return err
		}
	}
	of := c.rest
	if t.from != "" {
		of = of.with("translate", t.from, t.to)
	}
	c.tests = append(c.tests, Test{Of: of, Operator: "~~", Values: patterns})
	c.places(front, back, func(x item) bool { return x.set.any() || x.set.letterSet() })
	return c.short()
}

// places tests the characters at known places that the pattern does not test.
func (c *compiler) places(front, back sequence, told func(item) bool) {
	n := 0
	for _, x := range front {
		if !told(x) {
			c.consists(part(c.rest, n, x.min), x.set, x.min)
		}
		n += x.min
	}
	n = back.length()
	for _, x := range back {
		if n -= x.min; !told(x) {
			c.consists(ending(c.rest, n, x.min), x.set, x.min)
		}
	}
}

// A translation replaces characters by others that are in the same sets of an expression.
type translation struct {
	from, to string
	stands   map[rune]rune
}

func translationOf(sets []set) translation {
	t := translation{stands: map[rune]rune{}}
	first := map[string]rune{}
	for _, s := range sets {
		for _, c := range s.chars {
			if _, done := t.stands[c]; done {
				continue
			}
			t.stands[c] = 0
		}
	}
	var from, to []rune
	for _, c := range sorted(t.stands) {
		in := make([]byte, len(sets))
		for i, s := range sets {
			if s.has(c) {
				in[i] = 1
			}
		}
		r, known := first[string(in)]
		if !known {
			first[string(in)], r = c, c
		}
		if t.stands[c] = r; r != c {
			from, to = append(from, c), append(to, r)
		}
	}
	t.from, t.to = string(from), string(to)
	return t
}

func sorted(m map[rune]rune) []rune {
	var all []rune
	for c := range m {
		all = append(all, c)
	}
	slices.Sort(all)
	return all
}

// extend appends an item to patterns of LIKE.
func (t translation) extend(patterns []string, x item, told bool) ([]string, error) {
	one := []string{"_"}
	if told {
		one = nil
		for _, c := range x.set.chars {
			if t.stands[c] == c {
				one = append(one, escape(c))
			}
		}
	}
	for range x.min {
		var longer []string
		for _, p := range patterns {
			for _, o := range one {
				longer = append(longer, p+o)
			}
		}
		if patterns = longer; len(patterns) > maxPatterns {
			return nil, errTooMany
		}
		if len(patterns[0]) > maxBytes {
			return nil, errTooLong
		}
	}
	if x.max == unlimited {
		for i := range patterns {
			patterns[i] += "%"
		}
	}
	return patterns, nil
}

func escape(c rune) string {
	if c == '%' || c == '_' || c == '\\' {
		return `\` + string(c)
	}
	return string(c)
}

func (c *compiler) add(of Text, operator, value string) {
	c.tests = append(c.tests, Test{Of: of, Operator: operator, Values: []string{value}})
}

// consists tests whether a part of n characters has characters of a set only.
func (c *compiler) consists(of Text, s set, n int) {
	chars := string(s.chars)
	switch {
	case !s.not:
		c.add(of.with("ltrim", chars), "=", "")
	case n == 1:
		c.add(of.with("ltrim", chars), "<>", "")
	case len(s.chars) == 1:
		c.add(of, "!~~", "%"+escape(s.chars[0])+"%")
	default:
		c.tests = append(c.tests, Test{Of: of.with("translate", chars, ""), Operator: "=", With: append(Text{}, of...)})
	}
}

// short refuses tests whose constants are longer than the planner allows.
func (c *compiler) short() error {
	for _, t := range c.tests {
		for _, call := range t.Of {
			for _, s := range call.Texts {
				if len(s) > maxBytes {
					return errTooLong
				}
			}
		}
		for _, v := range t.Values {
			if len(v) > maxBytes || t.Operator == "~~" && strings.Count(v, "%") > maxWildcards {
				return errTooLong
			}
		}
	}
	return nil
}

// part is the n characters after the first ones.
func part(t Text, first, n int) Text {
	if first == 0 {
		return t.then("left", n)
	}
	return t.then("substr", first+1, n)
}

// ending is the n characters before the last ones.
func ending(t Text, last, n int) Text {
	if last == 0 {
		return t.then("right", n)
	}
	return t.then("right", last+n).then("left", n)
}

// from is everything after the first n characters.
func from(t Text, n int) Text {
	if n == 0 {
		return t
	}
	return t.then("substr", n+1)
}

// until is everything before the last n characters.
func until(t Text, n int) Text {
	if n == 0 {
		return t
	}
	return t.then("left", -n)
}
