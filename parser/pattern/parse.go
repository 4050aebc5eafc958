package pattern

import (
	"strings"
	"unicode/utf8"
)

const (
	maxListed  = 256 // characters of a set
	maxRepeats = 255 // in {m,n}, as in Postgres
	repeaters  = `*+?{`
)

// A parser reads an advanced regular expression of Postgres, and refuses everything that it does not know.
type parser struct {
	rest   string
	folded bool
	depth  int
}

func (p *parser) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

func (p *parser) next() (rune, error) {
	c, n := utf8.DecodeRuneInString(p.rest)
	if n == 0 || c == utf8.RuneError {
		return 0, errUnknown
	}
	if p.folded && c >= utf8.RuneSelf {
		return 0, refuse("a regular expression that ignores the case of characters beyond ASCII",
			"Write both cases: [Éé] with ~ instead of ~*.")
	}
	p.rest = p.rest[n:]
	return c, nil
}

// alternatives reads branches up to the end of the group, or of the expression.
func (p *parser) alternatives() ([]sequence, error) {
	var all []sequence
	for {
		branch, err := p.branch()
		if err != nil {
			return nil, err
		}
		if all = append(all, branch...); len(all) > maxBranches {
			return nil, errTooMany
		}
		if !p.take("|") {
			return all, nil
		}
	}
}

func (p *parser) branch() ([]sequence, error) {
	all := []sequence{nil}
	for p.rest != "" && p.rest[0] != '|' && (p.rest[0] != ')' || p.depth == 0) {
		atoms, err := p.quantified()
		if err == nil {
			all, err = product(all, atoms)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// quantified reads an atom and its quantifier.
func (p *parser) quantified() ([]sequence, error) {
	atoms, err := p.atom()
	if err != nil || p.rest == "" || !strings.ContainsAny(p.rest[:1], repeaters) {
		return atoms, err
	}
	least, most, ok := p.quantifier()
	p.take("?") // it asks for as few as possible: the same texts match
	if !ok || p.rest != "" && strings.ContainsAny(p.rest[:1], repeaters) {
		return nil, errUnknown
	}
	one, single := setOfAll(atoms)
	switch {
	case anchored(atoms):
		return nil, errUnknown
	case single:
		return []sequence{{{set: one, min: least, max: most}}}, nil
	case most == unlimited:
		return nil, refuse("a regular expression with a group that is repeated without end", "Write how often at most: (...){1,3}.")
	}
	return repeated(atoms, least, most)
}

// repeated returns a group repeated between least and most times.
func repeated(atoms []sequence, least, most int) (all []sequence, err error) {
	times := []sequence{nil}
	for n := 0; n <= most; n++ {
		if n >= least {
			all = append(all, times...)
		}
		if len(all) > maxBranches {
			return nil, errTooMany
		}
		if times, err = product(times, atoms); err != nil && n < most {
			return nil, err
		}
	}
	return all, nil
}

// setOfAll returns the set of alternatives that are one character each.
func setOfAll(atoms []sequence) (set, bool) {
	var all set
	for i, s := range atoms {
		if len(s) != 1 || s[0].anchor != 0 || s[0].min != 1 || s[0].max != 1 {
			return set{}, false
		}
		if all = all.union(s[0].set); i == 0 {
			all = s[0].set
		}
	}
	return all, len(atoms) > 0 && len(all.chars) <= maxListed
}

// quantifier reads *, +, ?, {m}, {m,} or {m,n}.
func (p *parser) quantifier() (least, most int, ok bool) {
	switch {
	case p.take("*"):
		return 0, unlimited, true
	case p.take("+"):
		return 1, unlimited, true
	case p.take("?"):
		return 0, 1, true
	case !p.take("{"):
		return 0, 0, false
	}
	least, ok = p.number()
	most = least
	if ok && p.take(",") {
		if most = unlimited; !strings.HasPrefix(p.rest, "}") {
			most, ok = p.number()
		}
	}
	return least, most, ok && p.take("}") && least <= most
}

func (p *parser) number() (n int, ok bool) {
	for p.rest != "" && '0' <= p.rest[0] && p.rest[0] <= '9' && n <= maxRepeats {
		n, ok = 10*n+int(p.rest[0]-'0'), true
		p.rest = p.rest[1:]
	}
	return n, ok && n <= maxRepeats
}

// atom reads a character, a set of characters, an anchor or a group.
func (p *parser) atom() ([]sequence, error) {
	switch {
	case p.take("("):
		return p.group()
	case p.take("["):
		s, err := p.bracket()
		return oneOf(s), err
	case p.take("."):
		return oneOf(anything), nil
	case p.take("^"), p.take(`\A`):
		return []sequence{{{anchor: '^'}}}, nil
	case p.take("$"), p.take(`\Z`):
		return []sequence{{{anchor: '$'}}}, nil
	case p.take(`\`):
		c, err := p.escaped()
		return oneOf(p.character(c)), err
	}
	c, err := p.next()
	if err == nil && strings.ContainsRune(repeaters+")", c) {
		err = errUnknown
	}
	return oneOf(p.character(c)), err
}

func (p *parser) character(c rune) set {
	s := setOf(c)
	if p.folded {
		s = s.folded()
	}
	return s
}

func oneOf(s set) []sequence { return []sequence{{{set: s, min: 1, max: 1}}} }

func (p *parser) group() ([]sequence, error) {
	if !p.take("?:") && strings.HasPrefix(p.rest, "?") {
		return nil, errUnknown
	}
	p.depth++
	all, err := p.alternatives()
	p.depth--
	if err == nil && !p.take(")") {
		err = errUnknown
	}
	return all, err
}

// escaped reads the character after a backslash.
func (p *parser) escaped() (rune, error) {
	c, err := p.next()
	switch {
	case err != nil:
		return 0, err
	case c == 'u':
		return p.hexadecimal()
	case strings.ContainsRune("dDsSwW", c):
		return 0, refuse(`a regular expression with \`+string(c), "What it matches hangs on the locale. Write "+spelled[c]+".")
	case strings.ContainsRune("ymMY", c):
		return 0, refuse(`a regular expression with \`+string(c), "Write what can be beside the word: (^|[ ,.])word([ ,.]|$).")
	case c >= utf8.RuneSelf, !letter(c) && (c < '0' || c > '9'):
		return c, nil
	}
	if meant, ok := controls[c]; ok {
		return meant, nil
	}
	return 0, errUnknown
}

// spelled has sets of characters as they are in a locale that has none beyond ASCII.
var spelled = map[rune]string{
	'd': "[0-9]", 'D': "[^0-9]", 's': `[ \t\n\v\f\r]`, 'S': `[^ \t\n\v\f\r]`, 'w': "[A-Za-z0-9_]", 'W': "[^A-Za-z0-9_]",
}

var controls = map[rune]rune{'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// hexadecimal reads the four digits after \u.
func (p *parser) hexadecimal() (c rune, err error) {
	for range 4 {
		d, err := p.next()
		v := strings.IndexRune("0123456789abcdef", d|0x20)
		if '0' <= d && d <= '9' {
			v = int(d - '0')
		}
		if err != nil || v < 0 {
			return 0, errUnknown
		}
		c = 16*c + rune(v)
	}
	if c == 0 || !utf8.ValidRune(c) || p.folded && c >= utf8.RuneSelf {
		return 0, errUnknown
	}
	return c, nil
}

// bracket reads a set after its [.
func (p *parser) bracket() (set, error) {
	not := p.take("^")
	var chars []rune
	for first := true; first || !p.take("]"); first = false {
		low, err := p.member(first)
		if err != nil {
			return set{}, err
		}
		high := low
		if strings.HasPrefix(p.rest, "-") && !strings.HasPrefix(p.rest, "-]") {
			p.take("-")
			if high, err = p.member(true); err != nil {
				return set{}, err
			}
		}
		if low > high || len(chars)+int(high-low) >= maxListed {
			return set{}, refuse("a regular expression with a set of more than 256 characters",
				"List fewer, or write [^...] of those that are left out.")
		}
		for c := low; c <= high; c++ {
			if utf8.ValidRune(c) {
				chars = append(chars, c)
			}
		}
	}
	s := set{chars: setOf(chars...).chars, not: not}
	if p.folded {
		s = s.folded()
	}
	return s, nil
}

// member reads a character of a set. It reads a - only if the - cannot make a range.
func (p *parser) member(dash bool) (rune, error) {
	if name := p.class(); name != "" {
		return 0, refuse("a regular expression with [:"+name+":]", "What it matches hangs on the locale. Write "+classes[name]+".")
	}
	switch {
	case p.take(`\`):
		return p.escaped()
	case strings.HasPrefix(p.rest, "[:"), strings.HasPrefix(p.rest, "[."), strings.HasPrefix(p.rest, "[="),
		!dash && strings.HasPrefix(p.rest, "-") && !strings.HasPrefix(p.rest, "-]"):
		return 0, errUnknown
	}
	return p.next()
}

// class returns the name of the class of characters that comes next.
func (p *parser) class() string {
	name, _, found := strings.Cut(strings.TrimPrefix(p.rest, "[:"), ":]")
	if _, known := classes[name]; known && found && strings.HasPrefix(p.rest, "[:") {
		return name
	}
	return ""
}

var classes = map[string]string{
	"digit": "0-9", "alpha": "A-Za-z", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z", "space": ` \t\n\v\f\r`,
	"xdigit": "0-9A-Fa-f", "blank": ` \t`, "punct": "the characters", "word": "A-Za-z0-9_",
}
