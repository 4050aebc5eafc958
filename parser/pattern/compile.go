package pattern

import (
	"slices"
	"strings"
)

// A compiler writes the tests of one sequence.
type compiler struct {
	rest  Text     // the part of the text that is not yet tested
	items sequence // what rest must consist of
	tests []Test
}

func (c *compiler) compile() error {
	for {
		cut, err := c.cutFront()
		if !cut && err == nil {
			cut, err = c.cutBack()
		}
		if err != nil {
			return err
		}
		if !cut {
			break
		}
	}
	err := c.finish()
	if len(c.tests) > 1 { // a pattern that all texts match tests nothing
		c.tests = slices.DeleteFunc(c.tests, func(t Test) bool { return t.Operator == "~~" && slices.Equal(t.Values, []string{"%"}) })
	}
	return err
}

// finish writes the rest of the sequence.
func (c *compiler) finish() error {
	s := c.items
	first, last := s.variable(0), s.backward(len(s))
	switch {
	case first == len(s):
		return c.like(s, nil, nil)
	case s.somewhere(first, last):
		return c.contains(first, last)
	case first == last, s.open(first, last), s.alike(first, last):
		return c.between(first, last)
	}
	return c.split()
}

// open reports whether all items of variable length from first to last are .*.
func (s sequence) open(first, last int) bool {
	return !slices.ContainsFunc(s[first:last+1], func(x item) bool { return !x.fixed() && !x.open() })
}

// alike reports whether all items of variable length from first to last have one set, and all other items have characters of that set.
func (s sequence) alike(first, last int) bool {
	of := s[first].set
	return !of.any() && !slices.ContainsFunc(s[first:last+1], func(x item) bool {
		return !x.fixed() && !x.set.equal(of) || !x.set.within(of) || x.max != unlimited && !x.fixed()
	})
}

// cutFront cuts off everything up to the end of the first item of variable length, if its end is known and another item varies.
func (c *compiler) cutFront() (bool, error) {
	s := c.items
	i := s.variable(0)
	if i == len(s) || s.variable(i+1) == len(s) || s[i].set.not || s[i].max != unlimited || !endsBefore(s[i], s[i+1:]) {
		return false, nil
	}
	x, n := s[i], s[:i].length()
	if err := c.like(s[:i], sequence{x.dots()}, nil); err != nil {
		return false, err
	}
	if x.min > 0 {
		c.consists(part(c.rest, n, x.min), x.set, x.min)
	}
	c.rest = from(c.rest, n).with("ltrim", string(x.set.chars))
	c.items = s[i+1:]
	return true, nil
}

// cutBack does the same from the end.
func (c *compiler) cutBack() (bool, error) {
	s := c.items
	i := s.backward(len(s))
	if i < 0 || s.backward(i) < 0 || s[i].set.not || s[i].max != unlimited {
		return false, nil
	}
	before := slices.Clone(s[:i])
	slices.Reverse(before)
	if !endsBefore(s[i], before) {
		return false, nil
	}
	x, n := s[i], s[i+1:].length()
	if err := c.like(nil, sequence{x.dots()}, s[i+1:]); err != nil {
		return false, err
	}
	if x.min > 0 {
		c.consists(ending(c.rest, n, x.min), x.set, x.min)
	}
	c.rest = until(c.rest, n).with("rtrim", string(x.set.chars))
	c.items = s[:i]
	return true, nil
}

// dots returns an item of any characters, at least as many as i has.
func (i item) dots() item { return item{set: anything, min: i.min, max: unlimited} }

// between writes the rest of a sequence. Its items of variable length match everything between the other items.
func (c *compiler) between(first, last int) error {
	s := c.items
	front, middle, back := s[:first], slices.Clone(s[first:last+1]), s[last+1:]
	x := s[first]
	for i, m := range middle {
		if !m.fixed() {
			middle[i] = m.dots()
		}
	}
	if err := c.like(front, middle, back); err != nil {
		return err
	}
	region := until(from(c.rest, front.length()), back.length())
	if !x.set.any() {
		c.consists(region, x.set, unlimited)
	}
	if x.max != unlimited {
		c.add(from(c.rest, front.length()+x.max+back.length()), "=", "")
	}
	return c.short()
}

// somewhere reports whether the items from first to last are .*[^...].*, with one character that is not listed.
func (s sequence) somewhere(first, last int) bool {
	return last == first+2 && s[first].open() && s[last].open() && s[first].min+s[last].min == 0 &&
		s[first+1].set.not && s[first+1].min == 1
}

// contains tests whether such a character is there.
func (c *compiler) contains(first, last int) error {
	s := c.items
	front, back := s[:first], s[last+1:]
	if err := c.like(front, sequence{{set: anything, min: 1, max: unlimited}}, back); err != nil {
		return err
	}
	c.add(until(from(c.rest, front.length()), back.length()).with("ltrim", string(s[first+1].set.chars)), "<>", "")
	return c.short()
}

// split looks for a character that is in fixed items only. Such a character divides the text into fields.
func (c *compiler) split() error {
	for _, x := range c.items {
		if x.fixed() && !x.set.not && len(x.set.chars) == 1 {
			if fields, ok := c.items.fields(x.set); ok {
				return c.each(fields, x.set.chars[0])
			}
		}
	}
	return errUnknown
}

// fields returns the sequences between the items of a set, if no other item has a character of the set.
func (s sequence) fields(of set) (all []sequence, ok bool) {
	all = []sequence{nil}
	for _, x := range s {
		switch {
		case x.set.equal(of) && x.fixed():
			for range x.min {
				all = append(all, nil)
			}
		case x.set.apart(of):
			all[len(all)-1] = append(all[len(all)-1], x)
		default:
			return nil, false
		}
	}
	return all, len(all) <= maxWildcards
}

// each tests all fields.
func (c *compiler) each(fields []sequence, separator rune) error {
	times := func(n int) string { return strings.Repeat("%"+escape(separator), n) + "%" }
	c.add(c.rest, "~~", times(len(fields)-1))
	c.add(c.rest, "!~~", times(len(fields)))
	for i, s := range fields {
		field := append(append(Text(nil), c.rest...), Call{Name: "split_part", Texts: []string{string(separator)}, Numbers: []int{i + 1}})
		f := &compiler{rest: field, items: s}
		if err := f.compile(); err != nil {
			return err
		}
		c.tests = append(c.tests, f.tests...)
	}
	return c.short()
}
